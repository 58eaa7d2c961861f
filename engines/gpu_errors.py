"""Errors of GPUs in an engine's log: messages of the NVIDIA driver, what native code prints of CUDA and NCCL, and
what AMD's runtime prints before it ends the process."""

from __future__ import annotations

import re

from engines.line_reader import LogFailure

# In every such line; RE2 syntax.
NEEDLES = (
    r"NVRM: |Failed[:,] (?:[Cc]uda|CUDA|HIP|NCCL) error|(?:CUDA|HIP) error \(|caught collective operation timeout|"
    r"Memory access fault by GPU|aborting with error : HSA_"
)
_MAX_TEXT = 2000
_NATIVE_WORDS = ("error", "fault", "timeout")  # one of them is in each such message
_NATIVE_ERROR = re.compile(
    r"(?:^|[\s\]])(?:Failed[:,] (?P<library>Cuda|CUDA|HIP|NCCL) error \S{1,300}:\d{1,6} '(?P<words>[^'\n]{1,200})'"
    r"|(?P<runtime>CUDA|HIP) error \([^()\n]{1,300}:\d{1,6}\): (?P<message>\S.{0,200}))"
)
_TIMEOUT = re.compile(
    r"Watchdog caught collective operation timeout: (?P<work>.{0,400}?"
    r"(?:OpType=(?P<operation>\w{1,40}).{0,200}?ran for (?P<ms>\d{1,12}) milliseconds|$))"
)
_AMD_FAULT = re.compile(r"Memory access fault by GPU (?P<gpu>node-\d{1,4})\b.{0,200}")
_AMD_ABORT = re.compile(
    r"aborting with error : (?P<error>HSA_STATUS_ERROR_\w{1,60})\b(?:: (?P<words>[^.\n]{3,200}))?.{0,200}"
)
_XID = re.compile(r"NVRM: Xid \(PCI:(?P<gpu>[0-9a-fA-F:.]{5,20})\): (?P<number>\d{1,4})\b")
_LOST_GPU = re.compile(r"NVRM: (?:GPU .{1,40} )?(?:has )?fallen off the bus")
_NAMES = {
    13: "graphics engine exception",
    31: "memory page fault",
    43: "the GPU stopped processing",
    45: "channels were removed after an earlier error",
    48: "double-bit ECC error",
    62: "the GPU's micro-controller halted",
    63: "ECC page retirement or row remapping",
    64: "ECC page retirement or row remapping failed",
    74: "NVLink error",
    79: "the GPU has fallen off the bus",
    94: "contained ECC error",
    95: "uncontained ECC error",
    119: "timeout of the GPU's system processor",
    120: "error of the GPU's system processor",
}


def without_driver_messages(text: str) -> str:
    """Return the text without the driver's lines: they name processes, but no engine wrote them."""
    if "NVRM: " not in text:
        return text
    return "\n".join(line for line in text.splitlines() if "NVRM: " not in line)


def read_native_error(text: str, cause_rank: int) -> LogFailure | None:
    """Return the failure of an error that C++ or CUDA code prints before its process ends; None for other messages."""
    if len(text) > _MAX_TEXT or not any(word in text for word in _NATIVE_WORDS):
        return None
    if timeout := _TIMEOUT.search(text):
        return LogFailure(cause_rank, f"Watchdog {timeout[0][9:].strip()}", _timeout_sentence(timeout))
    if fault := _AMD_FAULT.search(text):
        sentence = f"The GPU {fault['gpu']} used memory that it may not use; AMD's runtime ended the process."
        return LogFailure(cause_rank, fault[0].strip(), sentence)
    if abort := _AMD_ABORT.search(text):
        error = f"{abort['error']} ({abort['words'].strip()})" if abort["words"] else abort["error"]
        return LogFailure(
            cause_rank, abort[0][len("aborting with error : ") :].strip(), f"AMD's runtime reported {error}."
        )
    match = _NATIVE_ERROR.search(text)
    if match is None:
        return None
    library, words = match["library"] or match["runtime"], match["words"] or match["message"]
    return LogFailure(cause_rank, text.strip(), f"{library.upper()} reported: {words.strip()}.")


def _timeout_sentence(timeout: re.Match[str]) -> str:
    """Return the sentence of a collective operation that some GPU did not take part in."""
    operation = f" ({timeout['operation']})" if timeout["operation"] else ""
    duration = f" after {int(timeout['ms']) / 1000:.0f} s" if timeout["ms"] else ""
    return f"The communication between the GPUs timed out{duration}: a collective operation{operation} did not end."


def read_gpu_error(text: str) -> LogFailure | None:
    """Return the warning of a message by the driver; which process it harmed is not known."""
    if "NVRM: " not in text:
        return None
    if match := _XID.search(text):
        name = _NAMES.get(int(match["number"]))
        error = f"Xid {match['number']}" + (f" ({name})" if name else "")
        return LogFailure(None, text, f"The NVIDIA driver reported {error} of the GPU at {match['gpu']}.")
    if _LOST_GPU.search(text):
        return LogFailure(None, text, "The NVIDIA driver reported that a GPU has fallen off the bus.")
    return None
