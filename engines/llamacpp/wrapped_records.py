"""Timing records that a terminal wrapped at its width, or that a logger cut where the server's writes end."""

from __future__ import annotations

import re

from engines.llamacpp.timings import wholeness
from engines.wrapped_records import WrappedForm

FORM = WrappedForm(
    wholeness,
    re.compile(r"tid=|timestamp=|id_slot=|id_task=|_process|t_token|n_decoded=|t_total=|second[=)]|ated\)"),
    re.compile(r"\s*(?:(?:INFO|WARN|ERR|VERB|DEBUG) +\[|slot |srv |\[ *\w+\] |\w+: )"),
)
REST = FORM.rest.pattern.encode()
_CLOCK = re.compile(r"\d{1,9}\.\d\d\.\d{3}\.\d{3}(?: [A-Z])?\s*$")


def is_fragment(text: str) -> bool:
    """Whether this may be the end of a wrapped record, or the clock of one that a logger cut: not a message."""
    return _CLOCK.match(text) is not None or all("=" in word for word in text.split()[1:])
