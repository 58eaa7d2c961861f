"""Recognises the headings of a text: of Markdown, in bold, between bars, underlined, or of a copied page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from collectors.imports.results.prose.consoles import FENCE
from collectors.imports.results.prose.figure_marks import FIGURE, MAX_LINE_CHARS
from collectors.imports.results.prose.gpus import gpu_of
from collectors.imports.results.prose.stated_settings import model_in_line
from collectors.imports.results.prose.units import unit_in
from collectors.imports.results.tools.printed_block import MODEL_LINE

HEADING = re.compile(
    r"(?P<marks>#{1,6}) {1,8}(?P<words>.{1,160})|\*\*(?P<bold>[^*]{1,160})\*\*:?"
    r"|(?:<details>)?<summary>(?P<summary>.{1,160})</summary>|<h[1-6]>(?P<html>.{1,160})</h[1-6]>"
    r"|(?:\w{1,20}: )?(?P<bars>={3,60}|-{3,60}|─{2,60}) {1,4}(?P<barred>[^─|=\s-][^─|]{0,100}?)"
    r" {1,4}(?:={3,60}|-{3,60}|─{2,60})"
)
BARS = re.compile(r"\s{0,8}(?:\w{1,20}: )?(?:===|---|───)")
TAG = re.compile(r"</?[a-z][^<>]{0,60}>")
UNDERLINE = re.compile(r"(?:-{3,200}|={3,200})\s*")
ENDS_OF_TEXT = tuple(".!?:|)")
SETTING_LINE = re.compile(r"[A-Z][\w ]{1,20}: \S")  # 'Date: 2026-05-03'
NUMBERED = re.compile(r"\d{1,2}(?:\.\d{1,2})?[.)] ")  # '2. Finding the longest context'
PAIR_LINE = re.compile(r"\w{1,40}: {1,8}\S")
MAX_TITLE_CHARS = 60
PLAIN_NUMBER = re.compile(r"(?<!\S)\d[\d.,]{0,12}(?!\S)")
BOLD_LEVEL = 7  # below the headings of Markdown
PART_OF_LEVEL = 0.5  # between a heading and those one level below: '### Findings' under each '### 1. Tiny-8B'
MODEL_LEVEL = 12  # below the headings between bars
LEAST_MODELS = 2  # whose names are headings
SHORT_BARS = 4  # '=== measured ===' below '===== narrative ====='
MAX_HEADING_CHARS = 80


class Heading(NamedTuple):
    """A heading, and what is known of it."""

    level: float
    words: str
    has_table: bool = False  # right below it
    is_printed: bool = False  # by a tool, between fences
    is_of_model: bool = False  # whose heading is above it


def headings_of(lines: Sequence[str], models: Mapping[int, Heading]) -> dict[int, Heading]:
    """Return the headings of a text outside of its code, by their lines; `models`: lines that name a model alone."""
    parts = _parts_of_sections(lines)
    has_marks = any(line.startswith("#") and heading_of_line(line) for line in lines)
    headings: dict[int, Heading] = {}
    is_code = False
    for index, line in enumerate(lines):
        is_fence = line.lstrip()[:3] == FENCE
        is_code ^= is_fence
        if (
            not is_code
            and not is_fence
            and (
                heading := models.get(index)
                or parts.get(index)
                or heading_of_line(line)
                or _underlined_title(lines, index)
                or _title_of_unit(lines, index)
                or (None if has_marks else _page_title(lines, index))
            )
        ):
            headings[index] = heading
    return _with_parts_of_models(headings, lines)


def _with_parts_of_models(headings: Mapping[int, Heading], lines: Sequence[str]) -> dict[int, Heading]:
    """Return headings in which those of tables that name no model are parts of the section of one that does.

    Pages that were copied have all their headings on one level: 'Without graphs' below 'Tiny-8B, one node'.
    """
    names = {index: model_in_line(heading.words) for index, heading in headings.items() if heading.level == BOLD_LEVEL}
    if len({*filter(None, names.values())}) < LEAST_MODELS:
        return dict(headings)
    parts: dict[int, Heading] = {}
    is_of_model = False
    for index, heading in headings.items():
        is_of_table = "".join(lines[index + 1 : index + 2]).startswith("|") and gpu_of(heading.words) is None
        is_part = heading.level == BOLD_LEVEL and is_of_model and not names[index] and is_of_table
        if heading.level <= BOLD_LEVEL:
            is_of_model = is_part or bool(names.get(index))
        parts[index] = heading._replace(level=BOLD_LEVEL + PART_OF_LEVEL, is_of_model=True) if is_part else heading
    return parts


def _title_of_unit(lines: Sequence[str], index: int) -> Heading | None:
    """Return a short line between empty ones that names a unit and no figure, as a heading."""
    line, around = lines[index], (*lines[max(0, index - 1) : index], *lines[index + 1 : index + 2])
    is_alone = 0 < len(line) <= MAX_HEADING_CHARS and not any(neighbour.strip() for neighbour in around)
    is_title = is_alone and line[0].isalpha() and line[-1] not in ".:?!" and unit_in(line) and not FIGURE.search(line)
    return Heading(BOLD_LEVEL, line.strip()) if is_title else None


def _underlined_title(lines: Sequence[str], index: int) -> Heading | None:
    """Return a line of words below an empty one that hyphens or equals signs underline, as a heading."""
    line, above, below = lines[index], "".join(lines[max(0, index - 1) : index]), "".join(lines[index + 1 : index + 2])
    is_possible = 0 < len(line) <= MAX_HEADING_CHARS and line[0].isalnum() and not set("|:`") & set(line)
    is_heading = is_possible and not above.strip() and "  " not in line and not FIGURE.search(line)
    return Heading(BOLD_LEVEL, line.strip()) if is_heading and UNDERLINE.fullmatch(below[:210]) else None


def _page_title(lines: Sequence[str], index: int) -> Heading | None:
    """Return a short line of words above a paragraph, a table or another such line, as a copied page has headings."""
    line, above, below = lines[index], "".join(lines[max(0, index - 1) : index]), "".join(lines[index + 1 : index + 2])
    if NUMBERED.match(line) and not below.strip():
        below = "".join(lines[index + 2 : index + 3])
    is_above_text = len(below) > MAX_TITLE_CHARS or _is_short_title(below) or below.startswith("|")
    is_above_text = is_above_text or (SETTING_LINE.match(below) is not None and not FIGURE.search(below))
    is_above_text = is_above_text or (NUMBERED.match(line) is not None and PAIR_LINE.match(below) is not None)
    is_below_text = NUMBERED.match(line) is not None and not FIGURE.search(above)
    is_below_text = is_below_text or not above.strip() or above.rstrip()[-1:] in ENDS_OF_TEXT or _is_short_title(above)
    return Heading(BOLD_LEVEL, line.strip()) if _is_short_title(line) and is_above_text and is_below_text else None


def _is_short_title(line: str) -> bool:
    line = NUMBERED.sub("", line)
    first_word = line.partition(" ")[0]
    has_name = any(map(str.isupper, first_word)) or any(map(str.isdigit, first_word))  # 'vLLM', 'gpt-oss-20b'
    is_possible = 0 < len(line) <= MAX_TITLE_CHARS and has_name and line[0].isalpha() and line.rstrip()[-1:].isalnum()
    is_row = len(PLAIN_NUMBER.findall(line)) > 1 if is_possible else False
    return is_possible and not is_row and not set("|:=\t`") & set(line) and "  " not in line and not FIGURE.search(line)


def ends_section(outer: Heading, heading: Heading) -> bool:
    """Return whether a heading ends another's section; a line in bold below a table is one of the same kind."""
    is_alike = outer.has_table and heading.level >= BOLD_LEVEL and not heading.is_of_model
    return outer.level >= heading.level or is_alike


def heading_of_line(line: str) -> Heading | None:
    """Return a heading of Markdown, a line in bold or a summary; None for another line."""
    is_possible = line[:44].lstrip()[:1] in tuple("#*<=-─") or BARS.match(line) is not None
    match = HEADING.fullmatch(line.strip()) if is_possible and len(line) <= MAX_LINE_CHARS else None
    if match is None:
        return None
    words = TAG.sub("", match["words"] or match["bold"] or match["summary"] or match["html"] or match["barred"]).strip(
        "#*:` "
    )
    bars_level = BOLD_LEVEL + _depth_of_bars(match["bars"]) if match["bars"] else BOLD_LEVEL
    level = len(match["marks"]) if match["marks"] else bars_level
    return Heading(level, words[:MAX_HEADING_CHARS]) if words else None


def _parts_of_sections(lines: Sequence[str]) -> dict[int, Heading]:
    """Return the headings that are parts of the sections of others of their level, by their lines.

    Of Markdown's those that recur with the same words; of lines in bold those below ones that stand right above such a
    line, as lengths do above levels.
    """
    headings = {index: heading for index, line in enumerate(lines) if (heading := heading_of_line(line))}
    counts = Counter(heading[:2] for heading in headings.values() if heading.level < BOLD_LEVEL)
    recurring = {index for index, heading in headings.items() if counts[heading[:2]] > 1}
    bold = {index for index in headings if lines[index].lstrip().startswith("**")}
    outer = {index for index in bold if _next_line(lines, index) in bold}
    inner = bold - outer if len(outer) > 1 else set()
    return {index: headings[index]._replace(level=headings[index].level + PART_OF_LEVEL) for index in recurring | inner}


def _next_line(lines: Sequence[str], index: int) -> int:
    """Return the index of the line below another, or of that below an empty one."""
    return index + 1 if "".join(lines[index + 1 : index + 2]).strip() else index + 2


def _depth_of_bars(bars: str) -> int:
    """Return how deep a heading between such bars stands: '--- run 2 ---' is below '=== arm A ==='."""
    return 2 * (len(bars) <= SHORT_BARS) + (bars[0] != "=")


def model_lines(lines: Sequence[str]) -> dict[int, Heading]:
    """Return the lines that name a model alone, as headings of what stands below; nothing for fewer than two models."""
    models = {
        index: Heading(MODEL_LEVEL, match["model"]) for index, line in enumerate(lines)
        if len(line) <= MAX_LINE_CHARS and (match := MODEL_LINE.fullmatch(line))
    }  # fmt: skip
    return models if len({heading.words for heading in models.values()}) > 1 else {}
