"""Rewrites counting loops, `for ((i = 0; i < 8; i++))`, as loops over the numbers."""

from __future__ import annotations

import re

MOST_PASSES = 64
_LOOP = re.compile(
    r"\bfor[ \t]*\(\([ \t]*(?P<name>[A-Za-z_]\w{0,60})[ \t]*=(?P<first>[^;\n()]{0,60});"
    r"(?P<test>[^;\n]{0,60});(?P<step>[^;\n()]{0,60})\)\)"
)
_TEST = re.compile(r"(\w+)[ \t]*(<=?)[ \t]*(\d{1,6})")
_STEPS = ("{}++", "++{}", "{}+=1", "{}={}+1")


def rewrite_counting_loops(text: str) -> str:
    """Return a script whose counting loops run over numbers, or over what only a shell knows."""
    return _LOOP.sub(_over_numbers, text)


def _over_numbers(loop: re.Match[str]) -> str:
    name, first, step = loop["name"], loop["first"].strip(), loop["step"].replace(" ", "")
    test = _TEST.fullmatch(loop["test"].strip())
    is_counting = test is not None and test[1] == name and step in {form.format(name, name) for form in _STEPS}
    if test and is_counting and first.isdecimal():
        last = int(test[3]) - (test[2] == "<")
        if 0 <= last - int(first) < MOST_PASSES:
            return f"for {name} in {{{first}..{last}}}"
    return f"for {name} in $(({name}={first};{loop['test']};{loop['step']}))"
