"""Finds the headings and labels that each line of a text stands under: what tells one arm's figures from another's."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from collectors.imports.results.prose.consoles import FENCE, ConsoleContext, contexts_of
from collectors.imports.results.prose.figure_marks import BULLET, FIGURE, MAX_LINE_CHARS, NUMBER_WITH_UNIT
from collectors.imports.results.prose.headings import (
    BARS,
    Heading,
    ends_section,
    heading_of_line,
    headings_of,
    model_lines,
)
from collectors.imports.results.prose.leads import phase_of_lead
from collectors.imports.results.prose.line_labels import bare_names, caption_above, label_among, section_names
from collectors.imports.results.prose.units import unit_in

LATENCY_OF_LEAD = re.compile(r"\b(?:TTFT|ITL|TPOT|time to first token|inter-token latency)\b", re.IGNORECASE)
DECIMAL = re.compile(r"(?<![\w.,])\d{1,9}\.\d{1,9}(?![\w.,])")
MAX_LINES_OF_LIST = 40
MOST_WORDS_OF_LABEL = 5  # a longer one is a sentence


class _Path(NamedTuple):
    """What a line stands under: the headings, the outer one first, and the label that is the innermost.

    `label_outside`: the last label that is no line of code, which may be an answer's.
    """

    headings: tuple[str, ...]
    label: str
    label_outside: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in (*self.headings, self.label) if name)


class Sections:
    """Headings of the lines of a text; those that all its figures share tell nothing apart and are left out."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._contexts = list(contexts_of(self._lines))
        self._paths = _paths_of(text, self._contexts)
        self._common = 0

    def tell_apart(self, lines: Iterable[int]) -> None:
        """Leave out the headings that all these lines, which hold figures, have in common."""
        paths = {self._path(line) for line in lines}
        shortest = min(paths, key=len, default=())
        shared = (len({path[: depth + 1] for path in paths}) == 1 for depth in range(len(shortest)))
        common = next((depth for depth, is_shared in enumerate(shared) if not is_shared), len(shortest))
        # A heading alone may stand beside the same heading with another below it.
        self._common = common if len(paths) < 2 else min(common, max(0, len(shortest) - 1))

    def heading_of(self, line: int) -> str:
        """Return the headings of a line (from 1) that tell it apart, empty without any."""
        return ", ".join(dict.fromkeys(self._path(line)[self._common :]))

    def headings_among(self, lines: Iterable[int]) -> dict[int, str]:
        """Return what tells each of these lines (from 1) apart from the others: the headings that not all have.

        A line that is the title of what a tool printed is none of them.
        """
        paths = {line: self._paths[max(0, line - 2)] for line in lines if 0 < line <= len(self._paths)}
        names = {line: (*path.headings, path.label_outside) for line, path in paths.items()}
        shared = set.intersection(*map(set, names.values())) if names else set()
        return {
            line: ", ".join(dict.fromkeys(name for name in own_names if name and name not in shared))
            for line, own_names in names.items()
        }

    def labels_of(self, line: int) -> tuple[str, ...]:
        """Return all headings and labels of a line, the innermost first, after the latency that leads its list."""
        labels = self._path(line)[::-1]
        latency = _latency_of_list(self._lines, line)
        is_known = any(latency in label and len(label.split()) <= MOST_WORDS_OF_LABEL for label in labels[:1])
        lead = latency if not is_known else ""
        lead = lead or ("" if latency else phase_of_lead(self._lines, line))
        return (lead, *labels) if lead else labels

    def unit_heading_of(self, line: int, cells: Collection[str] = ()) -> str:
        """Return the innermost heading of a line that states a unit; empty without any.

        That of a figure of its own is one only if `cells` have a decimal number of the heading: '45.5 → 60 tok/s'.
        """
        return next((heading for heading in reversed(self._path(line)) if _states_unit(heading, cells)), "")

    def level_of(self, line: int) -> str:
        """Return the level of the load that a line above states for it, as 'concurrency 8'; empty without any."""
        return self._contexts[line - 1].level if 0 < line <= len(self._contexts) else ""

    def prefix_of(self, line: int) -> str:
        """Return what stands before the name of a figure of the line."""
        heading = self.heading_of(line)
        return f"{heading}: " if heading else ""

    def _path(self, line: int) -> tuple[str, ...]:
        return self._paths[line - 1].names if 0 < line <= len(self._paths) else ()


def _states_unit(heading: str, cells: Collection[str]) -> bool:
    is_of_figure = unit_in(heading) is not None and unit_in(NUMBER_WITH_UNIT.sub("", heading)) is None
    return unit_in(heading) is not None and (
        not is_of_figure or any(number in cell for number in DECIMAL.findall(heading) for cell in cells)
    )


def _latency_of_list(lines: Sequence[str], line: int) -> str:
    """Return the only latency that the sentence above the list of a line (from 1) names, without a figure of its own.

    'The TTFT grows with the load:' stands above '- 4 users: 200 ms'.
    """
    if not 0 < line <= len(lines) or not BULLET.match(lines[line - 1]):
        return ""
    above = lines[max(0, line - 1 - MAX_LINES_OF_LIST) : line - 1][::-1]
    lead = next((line_above.strip() for line_above in above if line_above.strip() and not BULLET.match(line_above)), "")
    if not lead.endswith(":") or len(lead) > MAX_LINE_CHARS or FIGURE.search(lead):
        return ""
    names = {name.lower(): name for name in LATENCY_OF_LEAD.findall(lead)}
    return names.popitem()[1] if len(names) == 1 else ""


def _paths_of(text: str, contexts: Sequence[ConsoleContext]) -> list[_Path]:
    """Return what each line stands under."""
    paths: list[_Path] = []
    stack: list[Heading] = []
    label, label_outside, has_content, is_code = "", "", False, False
    lines = text.splitlines()
    models = model_lines(lines)
    headings = headings_of(lines, models)
    names = {**bare_names(lines), **section_names(lines)}
    has_passages = sum(line.lstrip()[:3] == FENCE for line in lines) > 2
    for index, line in enumerate(lines):
        is_fence = line.lstrip()[:3] == FENCE
        is_code ^= is_fence
        bar_heading = heading_of_line(line) if is_code and BARS.match(line) and not FIGURE.search(line) else None
        bar_heading = bar_heading or (models.get(index) if is_code else None)
        if is_fence:
            has_content |= not is_code
            if is_code and has_passages and (not label or has_content) and (caption := caption_above(lines, index)):
                label, has_content = caption, False
            stack = [outer for outer in stack if not outer.is_printed]
        elif bar_heading:
            stack = [outer for outer in stack if not ends_section(outer, bar_heading)]
            stack.append(bar_heading._replace(is_printed=True))
            label, has_content = "", False
        elif heading := headings.get(index):
            stack = [outer for outer in stack if not ends_section(outer, heading)] + [heading]
            label, has_content = "", False
        elif own_label := names.get(index) or label_among(lines, index, is_code):
            label, has_content = own_label, False
        elif not is_code and not line.strip():
            label = "" if has_content else label
        else:
            has_content = True
        if stack and line.count("|") > 1:
            stack[-1] = stack[-1]._replace(has_table=True)
        label_outside = label_outside if is_code and not is_fence else label
        paths.append(_Path((*(heading.words for heading in stack), contexts[index].command), label, label_outside))
    return paths
