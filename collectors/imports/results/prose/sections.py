"""Finds the headings and labels that each line of a text stands under: what tells one arm's figures from another's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from collectors.imports.results.prose.consoles import FENCE, FLAGS, LEVELS_OF_LOGS, ConsoleContext, contexts_of
from collectors.imports.results.prose.metric_names import AIMED_AT
from collectors.imports.results.prose.stated_settings import model_in_line
from collectors.imports.results.prose.units import RATES, may_have_figure, pattern_of, unit_in
from collectors.imports.results.prose.value_names import names_settings
from collectors.imports.results.tools.printed_block import MODEL_LINE

HEADING = re.compile(
    r"(?P<marks>#{1,6}) {1,8}(?P<words>.{1,160})|\*\*(?P<bold>[^*]{1,160})\*\*:?"
    r"|(?:<details>)?<summary>(?P<summary>.{1,160})</summary>|<h[1-6]>(?P<html>.{1,160})</h[1-6]>"
    r"|(?:\w{1,20}: )?(?P<bars>={3,60}|-{3,60}|─{2,60}) {1,4}(?P<barred>[^─|=\s-][^─|]{0,100}?)"
    r" {1,4}(?:={3,60}|-{3,60}|─{2,60})"
)
BARS = re.compile(r"\s{0,8}(?:\w{1,20}: )?(?:===|---|───)")
LABEL = re.compile(  # 'tip:', '**Setup:** two GPUs', 'With speculation (steps=4):'
    r"\*\*(?P<bold>[^*|]{1,80}?):?\*\*:? ?(?P<more>[^|*]{0,80})|(?P<words>[\w(~](?:[^|:=]|(?<=\w)=(?=\w)){0,60}):",
    re.IGNORECASE,
)
LINKED_NAME = re.compile(  # 'Model 26B: https://... (Q4)', above its figures
    r"(?P<words>[\w(~][^|:=]{0,60}): ?<?https?://[^\s|]{1,300}[^|]{0,60}"
)
BOLD_LEAD = re.compile(r"\*\*(?P<words>[^*|]{1,80})\*\*:? [—–-] .{1,200}")  # '**Tiny MoE** — avg latency 44.5 ms'
BULLET = re.compile(r"\s{0,16}(?:[-*•+] |\d{1,2}[.)] )\s{0,4}")
TAG = re.compile(r"</?[a-z][^<>]{0,60}>")
UNDERLINE = re.compile(r"(?:-{3,200}|={3,200})\s*")
_FIGURE_UNITS = f"{pattern_of(*RATES)}|{pattern_of('ms', 's', '%', factor=1.0)}"
FIGURE = re.compile(rf"\dk? ?(?:{_FIGURE_UNITS})(?!\w)|(?<![\w/])(?:{_FIGURE_UNITS})[)\]]?\W{{1,8}}\d", re.IGNORECASE)
INDENTED = re.compile(r"(?: {2}|\t)\s*\S")
FIGURES_OF_PAIRS = re.compile(r"\w= {0,6}\d")
STATEMENT = re.compile(r"(?:for|if|elif|else|def|class|try|except|finally|with|while|case|async|@)\b")
FIGURE_LINE = re.compile(r"[\s*•+-]{0,12}[A-Za-z][^:=|.]{1,60}[:=]")
BUILD = re.compile(r"build: [\da-f]{7}")  # ends what llama-bench prints
ENDS_OF_TEXT = tuple(".!?:|)")
SETTING_LINE = re.compile(r"[A-Z][\w ]{1,20}: \S")  # 'Date: 2026-05-03'
NUMBERED = re.compile(r"\d{1,2}(?:\.\d{1,2})?[.)] ")  # '2. Finding the longest context'
PAIR_LINE = re.compile(r"\w{1,40}: {1,8}\S")
MAX_TITLE_CHARS = 60
PLAIN_NUMBER = re.compile(r"(?<!\S)\d[\d.,]{0,12}(?!\S)")
NO_LABEL_ENDS = tuple(".:?!,;")
BOLD_LEVEL = 7  # below the headings of Markdown
PART_OF_LEVEL = 0.5  # between a heading and those one level below: '### Findings' under each '### 1. Tiny-8B'
MODEL_LEVEL = 12  # below the headings between bars
SHORT_BARS = 4  # '=== measured ===' below '===== narrative ====='
LATENCY_OF_LEAD = re.compile(r"\b(?:TTFT|ITL|TPOT|time to first token|inter-token latency)\b", re.IGNORECASE)
MAX_LINES_OF_LIST = 40
MOST_WORDS_OF_LABEL = 5  # a longer one is a sentence
MAX_HEADING_CHARS = 80
MAX_LINE_CHARS = 240
IN_BRACKETS = re.compile(r"\([^()]{1,60}\)")
PAIR_WITH_UNIT = re.compile(  # 'ttft_p50_ms = 81.5'
    r"(?<![\w/])[A-Za-z]\w{0,40}_(?:m?s|sec|tps|toks?_s|tok(?:en)?s?_per_s(?:ec)?)(?:_\w{1,10})?\s{0,20}[:=]\s{0,40}\d",
    re.IGNORECASE,
)
SECTION = re.compile(r"\s{0,8}\[(?P<words>[A-Za-z][^\[\]|:]{0,60})\]\s{0,8}")  # '[baseline]', as in INI files
BARE_NAME = re.compile(
    r"[=*#>-]{0,6} ?(?P<words>[A-Za-z\d][^|{}<>=]{0,60}?)(?: ?[=*#-]{1,6})?:?\s{0,8}"
)  # 'vLLM nightly'
NUMBER_OF_LINE = re.compile(r"(?P<name>[^\d]{0,60})\d")
PAIR = re.compile(r"\w\s{0,20}[:=]\s{0,60}[\"'~≈]?\w")
MOST_WORDS_OF_NAME = 8
PICTURES = "🔴🟢🔵🟡🟠✅❌⚡🚀📊📈👉➡️▶ "  # before the name of an arm


class _Heading(NamedTuple):
    """A heading, and what is known of it."""

    level: float
    words: str
    has_table: bool = False  # right below it
    is_printed: bool = False  # by a tool, between fences


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
        return (latency, *labels) if latency and not is_known else labels

    def unit_heading_of(self, line: int) -> str:
        """Return the innermost heading of a line that states a unit; empty without any."""
        return next((heading for heading in reversed(self._path(line)) if unit_in(heading)), "")

    def level_of(self, line: int) -> str:
        """Return the level of the load that a line above states for it, as 'concurrency 8'; empty without any."""
        return self._contexts[line - 1].level if 0 < line <= len(self._contexts) else ""

    def prefix_of(self, line: int) -> str:
        """Return what stands before the name of a figure of the line."""
        heading = self.heading_of(line)
        return f"{heading}: " if heading else ""

    def _path(self, line: int) -> tuple[str, ...]:
        return self._paths[line - 1].names if 0 < line <= len(self._paths) else ()


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


def label_of(line: str) -> str:
    """Return the words of a line that names what stands below it, without its colon; empty for any other line."""
    words = line.strip() if len(line) <= MAX_LINE_CHARS else ""
    words = words[bullet.end() :] if (bullet := BULLET.match(words)) else words
    if "://" in words and (match := LINKED_NAME.fullmatch(words)) and not FIGURE.search(words):
        return match["words"]
    match = LABEL.fullmatch(words)
    if match is None:
        return ""
    bold, more = match["bold"], (match["more"] or "").strip().removesuffix(":")
    is_aside = IN_BRACKETS.fullmatch(more) is not None and not FIGURE.search(more)
    if more and not is_aside and (any(map(str.isdigit, more)) or BULLET.match(line)):
        return ""
    return (match["words"] or (f"{bold}: {more}" if more else bold))[:MAX_HEADING_CHARS]


def _paths_of(text: str, contexts: Sequence[ConsoleContext]) -> list[_Path]:
    """Return what each line stands under."""
    paths: list[_Path] = []
    stack: list[_Heading] = []
    label, label_outside, has_content, is_code = "", "", False, False
    lines = text.splitlines()
    models = _model_lines(lines)
    parts = _parts_of_sections(lines)
    names = {**_bare_names(lines), **_section_names(lines)}
    has_passages = sum(line.lstrip()[:3] == FENCE for line in lines) > 2
    has_marks = any(line.startswith("#") and _heading(line) for line in lines)
    for index, line in enumerate(lines):
        is_fence = line.lstrip()[:3] == FENCE
        is_code ^= is_fence
        bar_heading = _heading(line) if is_code and BARS.match(line) and not FIGURE.search(line) else None
        bar_heading = bar_heading or (models.get(index) if is_code else None)
        if is_fence:
            has_content |= not is_code
            if is_code and has_passages and (not label or has_content) and (caption := _caption_above(lines, index)):
                label, has_content = caption, False
            stack = [outer for outer in stack if not outer.is_printed]
        elif bar_heading:
            stack = [outer for outer in stack if not _ends_at(outer, bar_heading)]
            stack.append(bar_heading._replace(is_printed=True))
            label, has_content = "", False
        elif not is_code and (
            heading := models.get(index)
            or parts.get(index)
            or _heading(line)
            or _underlined(lines, index)
            or _title(lines, index)
            or (None if has_marks else _page_title(lines, index))
        ):
            stack = [outer for outer in stack if not _ends_at(outer, heading)] + [heading]
            label, has_content = "", False
        elif own_label := names.get(index) or _label_among(lines, index, is_code):
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


def _caption_above(lines: Sequence[str], index: int) -> str:
    """Return the line of words above a quoted passage that tells what it is; empty for any other line."""
    line = next((line_above.strip() for line_above in lines[max(0, index - 2) : index][::-1] if line_above.strip()), "")
    line = line[bullet.end() :] if (bullet := BULLET.match(line)) else line.lstrip(PICTURES)
    is_possible = 0 < len(line) <= MAX_HEADING_CHARS and (line[0].isalnum() or line[0] == "`") and "|" not in line
    is_caption = is_possible and not FIGURE.search(line) and not line.startswith(FENCE)
    return (line.strip("`: ") if FLAGS.fullmatch(line) else line) if is_caption else ""


def _title(lines: Sequence[str], index: int) -> _Heading | None:
    """Return a short line between empty ones that names a unit and no figure, as a heading."""
    line, around = lines[index], (*lines[max(0, index - 1) : index], *lines[index + 1 : index + 2])
    is_alone = 0 < len(line) <= MAX_HEADING_CHARS and not any(neighbour.strip() for neighbour in around)
    is_title = is_alone and line[0].isalpha() and line[-1] not in ".:?!" and unit_in(line) and not FIGURE.search(line)
    return _Heading(BOLD_LEVEL, line.strip()) if is_title else None


def _underlined(lines: Sequence[str], index: int) -> _Heading | None:
    """Return a line of words below an empty one that hyphens or equals signs underline, as a heading."""
    line, above, below = lines[index], "".join(lines[max(0, index - 1) : index]), "".join(lines[index + 1 : index + 2])
    is_possible = 0 < len(line) <= MAX_HEADING_CHARS and line[0].isalnum() and not set("|:`") & set(line)
    is_heading = is_possible and not above.strip() and "  " not in line and not FIGURE.search(line)
    return _Heading(BOLD_LEVEL, line.strip()) if is_heading and UNDERLINE.fullmatch(below[:210]) else None


def _page_title(lines: Sequence[str], index: int) -> _Heading | None:
    """Return a short line of words above a paragraph, a table or another such line, as a copied page has headings."""
    line, above, below = lines[index], "".join(lines[max(0, index - 1) : index]), "".join(lines[index + 1 : index + 2])
    if NUMBERED.match(line) and not below.strip():
        below = "".join(lines[index + 2 : index + 3])
    is_above_text = len(below) > MAX_TITLE_CHARS or _is_short_title(below) or below.startswith("|")
    is_above_text = is_above_text or (SETTING_LINE.match(below) is not None and not FIGURE.search(below))
    is_above_text = is_above_text or (NUMBERED.match(line) is not None and PAIR_LINE.match(below) is not None)
    is_below_text = NUMBERED.match(line) is not None and not FIGURE.search(above)
    is_below_text = is_below_text or not above.strip() or above.rstrip()[-1:] in ENDS_OF_TEXT or _is_short_title(above)
    return _Heading(BOLD_LEVEL, line.strip()) if _is_short_title(line) and is_above_text and is_below_text else None


def _is_short_title(line: str) -> bool:
    line = NUMBERED.sub("", line)
    first_word = line.partition(" ")[0]
    has_name = any(map(str.isupper, first_word)) or any(map(str.isdigit, first_word))  # 'vLLM', 'gpt-oss-20b'
    is_possible = 0 < len(line) <= MAX_TITLE_CHARS and has_name and line[0].isalpha() and line.rstrip()[-1:].isalnum()
    is_row = len(PLAIN_NUMBER.findall(line)) > 1 if is_possible else False
    return is_possible and not is_row and not set("|:=\t`") & set(line) and "  " not in line and not FIGURE.search(line)


def _label_among(lines: Sequence[str], index: int, is_code: bool) -> str:
    """Return the label that a line is for those below it; a line of a program is none."""
    line = lines[index]
    if is_code:
        label = "" if line[:1].isspace() or STATEMENT.match(line) else label_of(line)
    else:
        label = label_of(line) or _name_of_indented(lines[index : index + 2])
    label = label or _bold_lead(lines[index : index + 2]) or _bare_label(lines, index)
    return label or ("" if is_code else _model_above_table(lines, index))


def _model_above_table(lines: Sequence[str], index: int) -> str:
    """Return what a line above a table calls the only model that it names; empty for any other line.

    Of a line that ends with a colon these are its words, as far as there is room for them: 'A-8B Q4, fa=1, 5 runs:'.
    """
    line = lines[index].strip()
    if not 0 < len(line) <= MAX_LINE_CHARS or "|" in line or FIGURE.search(line) or BULLET.match(lines[index]):
        return ""
    model = model_in_line(line) if _is_table(_line_below(lines, index)) else None
    if model is None or not line.endswith(":"):
        return model or ""
    words = line.strip("*:` ")
    return words if len(words) <= MAX_HEADING_CHARS else words[:MAX_HEADING_CHARS].rpartition(",")[0] or model


def _bold_lead(lines: Sequence[str]) -> str:
    """Return the words in bold that a dash parts from a remark, above the items of a list; empty for other lines."""
    match = BOLD_LEAD.fullmatch(lines[0].strip()) if len(lines) > 1 and BULLET.match(lines[1]) else None
    return match["words"] if match and not FIGURE.search(match["words"]) else ""


def _bare_label(lines: Sequence[str], index: int) -> str:
    """Return a short line of words above a table or lines of figures, which stands alone; empty for any other line."""
    line = lines[index]
    is_possible = 0 < len(line) <= MAX_HEADING_CHARS and line[0].isalnum() and line.rstrip()[-1:] not in NO_LABEL_ENDS
    above = lines[index - 1] if index else ""
    is_alone = not above.strip() or (FIGURE_LINE.match(above) is not None and not FIGURE_LINE.match(line))
    if not is_possible or not is_alone or "|" in line or FIGURE.search(line) or BUILD.match(line):
        return ""
    below = _line_below(lines, index)
    is_above_figures = below in lines[index + 1 : index + 2] and FIGURE_LINE.match(below) and FIGURE.search(below)
    return line.strip() if _is_table(below) or is_above_figures else ""


def _is_table(line: str) -> bool:
    """Return whether a line is the first of a table with bars or in HTML."""
    return line.count("|") > 1 or line.lstrip()[:6].lower() == "<table"


def _section_names(lines: Sequence[str]) -> dict[int, str]:
    """Return the names in brackets that stand alone above a value or a figure, by their lines."""
    matches = {index: match for index, line in enumerate(lines) if (match := SECTION.fullmatch(line[:100]))}
    return {
        index: match["words"].strip() for index, match in matches.items()
        if match["words"].lower() not in LEVELS_OF_LOGS and _is_above_value(lines, index)
    }  # fmt: skip


def without_sections_of_settings(text: str) -> str:
    """Return a text with the pairs of such sections of INI files left empty: '[workload.params]', '[slo]'."""
    lines, is_of_settings = text.splitlines(), False
    for index, line in enumerate(lines):
        if match := SECTION.fullmatch(line[:100]):
            name = match["words"].rpartition(".")[2]
            is_of_settings = names_settings(name) or AIMED_AT.search(name) is not None
        is_of_settings &= match is not None or not line.strip() or PAIR.search(line[:MAX_LINE_CHARS]) is not None
        lines[index] = "" if is_of_settings else line
    return "\n".join(lines)


def _is_above_value(lines: Sequence[str], index: int) -> bool:
    below = _line_below(lines, index)[:MAX_LINE_CHARS]
    return PAIR.search(below) is not None or FIGURE.search(below) is not None


def _line_below(lines: Sequence[str], index: int) -> str:
    """Return the line below another, or that below an empty one."""
    return next((line for line in lines[index + 1 : index + 3] if line.strip()), "")


def _bare_names(lines: Sequence[str]) -> dict[int, str]:
    """Return the lines of words in code that are the names of arms: each stands above the same first figure."""
    names_by_figure: dict[str, dict[int, str]] = {}
    is_code, above = False, ""
    for index, line in enumerate(lines):
        is_fence = line.lstrip()[:3] == FENCE
        is_code ^= is_fence
        name = _bare_name(line) if is_code and not is_fence and _ends_figures(above) else ""
        match = NUMBER_OF_LINE.match(_line_below(lines, index).strip()) if name else None
        if match and _is_above_figure(lines, index):
            names_by_figure.setdefault(match["name"].strip().lower(), {})[index] = name
        above = line
    arms = (names for names in names_by_figure.values() if len({*names.values()}) > 1)
    return {index: name for names in arms for index, name in names.items()}


def _bare_name(line: str) -> str:
    """Return the words of a line that has neither a figure nor a value; empty for any other."""
    match = BARE_NAME.fullmatch(line[: MAX_TITLE_CHARS + 20])
    words = match["words"].strip() if match else ""
    is_name = any(map(str.isalpha, words)) and len(words.split()) <= MOST_WORDS_OF_NAME
    is_other = PAIR.search(line) or FIGURE.search(line) or BUILD.match(line) or STATEMENT.match(line)
    return words if is_name and not is_other and words[-1:] not in NO_LABEL_ENDS else ""


def _is_above_figure(lines: Sequence[str], index: int) -> bool:
    return FIGURE.search(_line_below(lines, index)[:MAX_LINE_CHARS]) is not None


def _ends_figures(line: str) -> bool:
    """Return whether a line is a figure's, a fence or empty, so that another arm may begin below it."""
    return not line.strip() or line.lstrip()[:3] == FENCE or FIGURE.search(line[:MAX_LINE_CHARS]) is not None


def _name_of_indented(lines: Sequence[str]) -> str:
    """Return a line of words above an indented one with figures, which belongs to it; empty for any other line."""
    if len(lines) < 2 or lines[0][:1].isspace() or not INDENTED.match(lines[1]) or FIGURE.search(lines[0]):
        return ""
    return lines[0].strip(" :`*")[:MAX_HEADING_CHARS] if len(FIGURES_OF_PAIRS.findall(lines[1])) > 1 else ""


def _ends_at(outer: _Heading, heading: _Heading) -> bool:
    """Return whether a heading ends another's section; a line in bold below a table is one of the same kind."""
    return outer.level >= heading.level or (outer.has_table and heading.level >= BOLD_LEVEL)


def _heading(line: str) -> _Heading | None:
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
    return _Heading(level, words[:MAX_HEADING_CHARS]) if words else None


def _parts_of_sections(lines: Sequence[str]) -> dict[int, _Heading]:
    """Return the headings that are parts of the sections of others of their level, by their lines.

    Of Markdown's those that recur with the same words; of lines in bold those below ones that stand right above such a
    line, as lengths do above levels.
    """
    headings = {index: heading for index, line in enumerate(lines) if (heading := _heading(line))}
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


def _model_lines(lines: Sequence[str]) -> dict[int, _Heading]:
    """Return the lines that name a model alone, as headings of what stands below; nothing for fewer than two models."""
    models = {
        index: _Heading(MODEL_LEVEL, match["model"]) for index, line in enumerate(lines)
        if len(line) <= MAX_LINE_CHARS and (match := MODEL_LINE.fullmatch(line))
    }  # fmt: skip
    return models if len({heading.words for heading in models.values()}) > 1 else {}


def lines_with_figures(text: str) -> list[int]:
    """Return the numbers of the lines, from 1, that have a number with a unit, or a unit."""
    return [
        number for number, line in enumerate(text.splitlines(), 1)
        if len(line) <= MAX_LINE_CHARS and may_have_figure(line)
        and (FIGURE.search(line) or PAIR_WITH_UNIT.search(line))
    ]  # fmt: skip
