"""Programs whose logs are not read, known by records that only they write: a refusal names them."""

from __future__ import annotations

import re
from typing import NamedTuple


class OtherProgram(NamedTuple):
    """A program that is no engine of Pitwall's, and what only its log contains."""

    title: str
    sign: re.Pattern[str]


def _program(title: str, sign: str) -> OtherProgram:
    return OtherProgram(title, re.compile(sign, re.MULTILINE))


OTHER_PROGRAMS = (
    _program(
        "LMDeploy",
        r"^\[TM\]\[(?:DEBUG|INFO|WARNING|ERROR|FATAL)\]|\d - lmdeploy - [A-Z]|\blmdeploy/(?:serve|pytorch)/",
    ),
    _program(
        "Text Generation Inference",
        r"\btext_generation_(?:launcher|router\w{0,20})(?:::|: |\")|/text_generation_server/\w",
    ),
    _program("Ollama", r"\bsource=\w{1,40}\.go:\d{1,6} msg=|\bollama\[\d{1,9}\]: "),
    _program("LM Studio", r"\[LM STUDIO SERVER\]|\[LMSInternal\]"),
    _program("LiteLLM", r"\bLiteLLM(?: Proxy| Router)?:(?:DEBUG|INFO|WARNING|ERROR): "),
    _program(
        "Triton Inference Server",
        r"^[IWE]\d{4} [\d:.]{15} \d{1,9} (?:model_lifecycle|server|\w{1,30}_memory_manager)\.cc:\d|"
        r"\bTRITONBACKEND_\w|^== Triton Inference Server ==",
    ),
    _program(
        "TabbyAPI",
        r"\bExllama[Vv][23] version: |\bMetrics \(ID: \w{8,40}\): \d|"
        r"[/\\](?:backends|site-packages|dist-packages)[/\\]exllamav[23][/\\]",
    ),
    _program("LightLLM", r"\blightllm_req_id:\d|\blightllm_kernel is not installed"),
    _program("LMCache", r"\bLMCache (?:DEBUG|INFO|WARNING|ERROR): "),
    _program(
        "NVIDIA Dynamo",
        r"\bdynamo_(?:runtime|llm|run)::|/dynamo/lib/\w{1,30}/src/\w|"
        r"/dynamo/(?:trtllm|vllm|sglang|frontend|runtime)/\w+\.py\b|"
        r"\d\.\d{3,6}Z +(?:DEBUG|INFO|WARN|ERROR) (?:\w{0,40}handlers?(?:_base)?|main|arbiter|serv(?:ing|e_dynamo))\."
        r"(?:\w{1,60}|<\w{1,20}>): ",
    ),
    _program("GPUStack", r"\d - gpustack\.[\w.]{1,100} - [A-Z]{4,8} - "),
    _program("MLX LM", r"\bmlx_lm/(?:server|generate)\.py\b"),
    _program("the Linux kernel, with messages of the NVIDIA driver", r"\bNVRM: "),
)


def find_other_program(text: str) -> OtherProgram | None:
    """Return the program that wrote a record of this text; None if none of OTHER_PROGRAMS did."""
    return next((program for program in OTHER_PROGRAMS if program.sign.search(text)), None)
