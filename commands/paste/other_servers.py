"""Names servers that Pitwall does not launch, for the sentence of a refusal."""

from __future__ import annotations

import re

SERVERS = {
    "LMDeploy": r"lmdeploy[ \t]+serve",
    "Text Generation Inference": r"text-generation-launcher",
    "Ollama": r"ollama[ \t]+(?:serve|run)",
    "MLC LLM": r"(?:-m[ \t]+)?mlc_llm[ \t]+serve",
    "Aphrodite": r"aphrodite[ \t]+(?:run|serve)",
    "KTransformers": r"ktransformers|-m[ \t]+ktransformers\.\S+",
    "KoboldCpp": r"koboldcpp(?:\.py)?",
    "MLX LM": r"mlx_lm\.server|-m[ \t]+mlx_lm\.server|mlx-openai-server[ \t]+launch",
    "llama-cpp-python": r"-m[ \t]+llama_cpp\.server",
    "LightLLM": r"-m[ \t]+lightllm\.server\.api_server",
    "Triton Inference Server": r"tritonserver",
    "RamaLama": r"ramalama[ \t]+serve",
    "Docker Model Runner": r"docker[ \t]+model[ \t]+run",
    "LM Studio": r"lms[ \t]+server[ \t]+start",
}
_COMMAND = re.compile(
    r"(?:^|(?<=[\s;&|(/\"'`]))(?:"
    + "|".join(f"(?P<server_{number}>{pattern})" for number, pattern in enumerate(SERVERS.values()))
    + r")(?=[\s\"'`]|$)",
    re.MULTILINE,
)


def find_other_server(text: str) -> str | None:
    """Return the name of the first such server that a text starts; None if there is none."""
    match = _COMMAND.search(text)
    return list(SERVERS)[int(str(match.lastgroup).rpartition("_")[2])] if match else None
