"""Recognises the lines that name what stands below them: 'With speculation:', a caption, the name of an arm."""

from __future__ import annotations

import re
from collections.abc import Sequence

from collectors.imports.results.prose.consoles import FENCE, FLAGS, LEVELS_OF_LOGS
from collectors.imports.results.prose.figure_marks import BULLET, FIGURE, MAX_LINE_CHARS
from collectors.imports.results.prose.headings import MAX_HEADING_CHARS, MAX_TITLE_CHARS, heading_of_line
from collectors.imports.results.prose.metric_names import AIMED_AT
from collectors.imports.results.prose.stated_settings import model_in_line
from collectors.imports.results.prose.value_names import names_settings

LABEL = re.compile(  # 'tip:', '**Setup:** two GPUs', 'With speculation (steps=4):'
    r"\*\*(?P<bold>[^*|]{1,80}?):?\*\*:? ?(?P<more>[^|*]{0,80})|(?P<words>[\w(~](?:[^|:=]|(?<=\w)=(?=\w)){0,60}):",
    re.IGNORECASE,
)
LINKED_NAME = re.compile(  # 'Model 26B: https://... (Q4)', above its figures
    r"(?P<words>[\w(~][^|:=]{0,60}): ?<?https?://[^\s|]{1,300}[^|]{0,60}"
)
BOLD_LEAD = re.compile(r"\*\*(?P<words>[^*|]{1,80})\*\*:? [—–-] .{1,200}")  # '**Tiny MoE** — avg latency 44.5 ms'
INDENTED = re.compile(r"(?: {2}|\t)\s*\S")
FIGURES_OF_PAIRS = re.compile(r"\w= {0,6}\d")
STATEMENT = re.compile(r"(?:for|if|elif|else|def|class|try|except|finally|with|while|case|async|@)\b")
FIGURE_LINE = re.compile(r"[\s*•+-]{0,12}[A-Za-z][^:=|.]{1,60}[:=]")
BUILD = re.compile(r"build: [\da-f]{7}")  # ends what llama-bench prints
NO_LABEL_ENDS = tuple(".:?!,;")
IN_BRACKETS = re.compile(r"\([^()]{1,60}\)")
SECTION = re.compile(r"\s{0,8}\[(?P<words>[A-Za-z][^\[\]|:]{0,60})\]\s{0,8}")  # '[baseline]', as in INI files
BARE_NAME = re.compile(
    r"[=*#>-]{0,6} ?(?P<words>[A-Za-z\d][^|{}<>=]{0,60}?)(?: ?[=*#-]{1,6})?:?\s{0,8}"
)  # 'vLLM nightly'
NUMBER_OF_LINE = re.compile(r"(?P<name>[^\d]{0,60})\d")
PAIR = re.compile(r"\w\s{0,20}[:=]\s{0,60}[\"'~≈]?\w")
SETTINGS_HEADING = re.compile(
    r"\W*(?:[\d.]{1,8} )?(?:\w{1,20} ){0,2}(?:set-?up|settings?|config(?:uration)?s?|environment|parameters|conditions)"
    r"(?: (?:used|details))?\W*",
    re.IGNORECASE,
)
SETTING_ITEM = re.compile(  # '- Prompt length: 128 tokens'
    r"[\s*•+-]{0,12}(?P<name>[^:=|]{1,60}?)[*`]{0,3}\s?[:=][*`]{0,3}\s{0,20}[*`]{0,3}"
    r"(?P<value>[~≈]?\d[\d,.]{0,12}[kK]?"
    r"(?: ?(?:tokens?|toks?|ms|s|sec(?:onds)?|min(?:utes)?|[GM]i?B|req(?:uests)?/s|RPS|QPS))?)"
    r"(?![\w%])[*`]{0,3}[^.:;|/\d]{0,60}"
)
NAME_OF_SETTING = re.compile(  # of what is asked of a server, or what a machine has
    r"\b(?:len(?:gth)?s?|sizes?|batch|limits?|window|context|isl|osl|max(?:imum)?|timeout|duration|warm-?up|interval|think"
    r"|ramp(?:-?up)?|delay|rate|v?ram|memory|prompts?|inputs?|outputs?|responses?)\b",
    re.IGNORECASE,
)
MOST_WORDS_OF_NAME = 8
PICTURES = "🔴🟢🔵🟡🟠✅❌⚡🚀📊📈👉➡️▶ "  # before the name of an arm


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


def caption_above(lines: Sequence[str], index: int) -> str:
    """Return the line of words above a quoted passage that tells what it is; empty for any other line."""
    line = next((line_above.strip() for line_above in lines[max(0, index - 2) : index][::-1] if line_above.strip()), "")
    line = line[bullet.end() :] if (bullet := BULLET.match(line)) else line.lstrip(PICTURES)
    is_possible = 0 < len(line) <= MAX_HEADING_CHARS and (line[0].isalnum() or line[0] == "`") and "|" not in line
    is_caption = is_possible and not FIGURE.search(line) and not line.startswith(FENCE)
    return (line.strip("`: ") if FLAGS.fullmatch(line) else line) if is_caption else ""


def label_among(lines: Sequence[str], index: int, is_code: bool) -> str:
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


def section_names(lines: Sequence[str]) -> dict[int, str]:
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


def without_lists_of_settings(text: str) -> tuple[str, dict[str, str]]:
    """Return a text with the lengths, sizes and plans below headings of settings left empty, and these by their names.

    What the load was to be is no result: '- Prompt length: 128 tokens' below 'Experimental setup'.
    """
    lines, settings, is_of_settings, is_code = text.splitlines(), {}, False, False
    for index, line in enumerate(lines):
        is_code ^= line.lstrip()[:3] == FENCE
        heading = None if is_code else heading_of_line(line)
        label = heading.words if heading else label_of(line) if line.rstrip(" *").endswith(":") else ""
        if label:
            is_of_settings = SETTINGS_HEADING.fullmatch(label) is not None
        match = SETTING_ITEM.fullmatch(line[:MAX_LINE_CHARS]) if is_of_settings else None
        if match and NAME_OF_SETTING.search(match["name"]):
            settings[f"{match['name'].strip(' *`')} (line {index + 1})"] = match["value"].strip()
            lines[index] = ""
    return "\n".join(lines), settings


def _is_above_value(lines: Sequence[str], index: int) -> bool:
    below = _line_below(lines, index)[:MAX_LINE_CHARS]
    return PAIR.search(below) is not None or FIGURE.search(below) is not None


def _line_below(lines: Sequence[str], index: int) -> str:
    """Return the line below another, or that below an empty one."""
    return next((line for line in lines[index + 1 : index + 3] if line.strip()), "")


def bare_names(lines: Sequence[str]) -> dict[int, str]:
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
