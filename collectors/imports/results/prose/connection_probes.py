"""Leaves out the latencies of a connection that benchmark tools print: they are no request's latency."""

from __future__ import annotations

import re

BENCHY_PROBE = re.compile(
    r"^Average latency \((?P<mode>\w{1,20})\): (?P<ms>\d{1,9}(?:\.\d{1,6})?) ms", re.MULTILINE
)  # of llama-benchy
_LLMAPIBENCHMARK_PROBE = re.compile(
    r"(?P<model>^(?:Test )?Model: .{1,200}\n)Latency: \d{1,9}(?:\.\d{1,6})? ms$", re.MULTILINE
)


def without_probes(text: str) -> str:
    """Return a text without the latencies that a tool measured of its connection."""
    return _LLMAPIBENCHMARK_PROBE.sub(r"\g<model>", BENCHY_PROBE.sub("", text))
