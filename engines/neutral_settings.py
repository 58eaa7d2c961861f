"""Environment variables that no engine computes with: where files are cached, how a program prints and reports.

Runs that differ only in these, or in an engine's `neutral_flags` and `neutral_variables`, repeat each other.
"""

from __future__ import annotations

import re

NEUTRAL_VARIABLES = re.compile(
    r"(?:HF|HUGGINGFACE)_(?:HOME|HUB_[A-Z_]+|XET_[A-Z_]+|TOKEN|ENDPOINT)|HUGGING_FACE_HUB_TOKEN|"
    r"TRANSFORMERS_(?:VERBOSITY|OFFLINE|CACHE)|DO_NOT_TRACK|NO_COLOR|FORCE_COLOR|TERM|COLUMNS|LANG|LC_[A-Z]+|TZ|HOME|"
    r"PYTHON(?:UNBUFFERED|WARNINGS|DONTWRITEBYTECODE|IOENCODING)|XDG_CACHE_HOME|TMPDIR"
)


def is_neutral_variable(name: str) -> bool:
    """Whether a variable of this name leaves every engine's work as it is."""
    return NEUTRAL_VARIABLES.fullmatch(name) is not None
