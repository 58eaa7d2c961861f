"""Names servers that Pitwall does not launch, and other programs, for the sentence of a refusal."""

from __future__ import annotations

import re
from typing import NamedTuple

from commands.paste.servers import INVOCATIONS, NEVER_SERVE, engine_of_flags
from commands.paste.shell import UnclosedQuoteError, Word, split_words

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
KEYWORDS = "if elif then else while until for case do function local export return eval"
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


_PRINTED = re.compile(
    r"^[ \t]*(?P<program>printf|echo)[ \t](?:[^\n]{0,300}[\s'\"n])??exec[ \t]+(?:"
    + "|".join(f"(?P<{name}>{invocation.text_pattern})" for name, invocation in INVOCATIONS.items())
    + r")\s",
    re.MULTILINE,
)


class PrintedCommand(NamedTuple):
    """A server's command that a script writes with a program: `printf 'exec vllm serve …'`."""

    program: str
    engine: str


def find_printed_command(text: str) -> PrintedCommand | None:
    """Return the first command of a server that a script prints for another script; None if there is none."""
    match = _PRINTED.search(text)
    return PrintedCommand(match["program"], str(match.lastgroup)) if match else None


_PROGRAM = re.compile(
    r"^[ \t]*(?:\$[ \t]+)?(?:sudo[ \t]+)?(?P<command>(?P<name>[a-z][\w.-]{0,60})(?:[ \t]+[a-z][\w.-]{0,60}){0,2}"
    r"(?:[ \t]+|[ \t]*\\\n[ \t]*)--?[a-z][^\n]*(?:(?<=\\)\n[^\n]*)*)",
    re.MULTILINE,
)
_FLAG = re.compile(r"(?<=\s)--?[a-z]")


_SCRIPT = re.compile(r"(?:^|[\s'\"])(?P<path>[\w.~${}/-]{0,200}/[\w.-]{1,80}\.sh)\b")
_STARTERS = frozenset({"setsid", "nohup", "exec", "env", "bash", "sh", "zsh", "sudo"})


class Program(NamedTuple):
    """A program that a paste starts, and the engine whose flags stand in one of its words."""

    name: str
    engine_of_flags: str | None


def find_program(text: str) -> Program | None:
    """Return the first program that a text starts with two flags or more; None if there is none."""
    for match in _PROGRAM.finditer(text):
        if match["name"] not in NEVER_SERVE.union(KEYWORDS.split()) and len(_FLAG.findall(match["command"])) > 1:
            engines = (engine_of_flags(word.text.split()) for word in _words(match["command"]))
            script = _SCRIPT.search(match["command"]) if match["name"] in _STARTERS else None
            return Program(
                script["path"] if script else match["name"], next((engine for engine in engines if engine), None)
            )
    return None


def _words(command: str) -> list[Word]:
    try:
        return split_words(command)
    except UnclosedQuoteError as error:
        return error.command.words
