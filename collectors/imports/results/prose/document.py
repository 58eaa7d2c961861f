"""What people publish: Markdown tables, columns pasted without their bars, 'name: number' lines, printed benchmarks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, Point, Ticket
from collectors.imports.results.prose.naming import ACCURACY, DERIVED, STATED, metric_of, statistic_of
from collectors.imports.results.prose.stated import NUMBER, Stated, read_cell, stated, unit_in
from collectors.imports.results.prose.tables import RULE, Table, read_tables
from collectors.imports.results.source import Source
from collectors.imports.results.tools import benchy_table, five_prompts
from reasons import Code, Reason

TOOL = "document"
PASSED, NOT_PASSED = "✅", "❌"
LINE = re.compile(rf"(?P<label>[^:=|`\"]{{2,70}}?)`?[:=]`?[ \n]{{0,2}}`?(?:{NUMBER})", re.IGNORECASE)
UNIT = re.compile(rf"{NUMBER}", re.IGNORECASE)
AT_ONCE = re.compile(r"c=(\d{1,6})|(\d{1,6}) concurrent", re.IGNORECASE)
LONGEST_NAME = 200
MOST_CHARACTERS = 4_000_000


def recognise(head: str) -> bool:
    """Whether a text holds a table, a printed benchmark, or columns of numbers with their units."""
    lines = head.splitlines()[:2000]
    has_table = any(len(line) < 4096 and "|" in line and RULE.fullmatch(line) for line in lines)
    return has_table or five_prompts.recognise(head) or sum(aligned(line) is not None for line in lines) >= 3


def read(source: Source, ticket: Ticket) -> list[LoadBuilder]:
    """The loads that a text states; raises ImportRefusedError where it states none."""
    text = source.text()
    if len(text) > MOST_CHARACTERS:
        raise ImportRefusedError(f"{source.name} is longer than {MOST_CHARACTERS:,} characters: no published text is.")
    tables, rest = read_tables(text)
    benchy = [table for table in tables if benchy_table.is_benchy(table)]
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.dated)
    for table in tables:
        if table not in benchy:
            _add_table(load, table)
    if five_prompts.recognise(rest):
        printed, rest = five_prompts.read(rest, ticket, 2), ""
    else:
        printed = None
    _add_aligned(load, rest)
    _add_lines(load, rest)
    found = [load, benchy_table.read(benchy, text, ticket, 1) if benchy else None, printed]
    loads = [one for one in found if one and one.rows]
    if not loads:
        raise ImportRefusedError(f"{source.name} holds no table and no line with a result in it.")
    return loads


# --- Markdown tables --------------------------------------------------------------------------------------------------
def _add_table(load: LoadBuilder, table: Table) -> None:
    for line, row in enumerate(table.rows, table.line + 2):
        if any(cell.startswith((PASSED, NOT_PASSED)) for cell in row):
            _add_check(load, table.heads, row)
            continue
        label = row[0]
        for place, cell in enumerate(row[1:], 1):
            head = table.heads[place] if place < len(table.heads) else f"column {place + 1}"
            value = read_cell(cell)
            if value and not DERIVED.search(f"{label} {head}"):
                point = Point(_name(table.heads, row, place, line), _at_once(table, row, head))
                _add_number(load, value, point, label, head, table.title)


def _add_check(load: LoadBuilder, heads: Sequence[str], row: Sequence[str]) -> None:
    named = dict(zip((head.lower() for head in heads), row, strict=False))
    result = next(cell for cell in row if cell.startswith((PASSED, NOT_PASSED)))
    is_pass = result.startswith(PASSED)
    mode = "streaming" if named.get("streaming", "").lower() == "yes" else "whole" if "streaming" in named else STATED
    load.check(suite="as published", case_name=row[0][:LONGEST_NAME], mode=mode, is_pass=is_pass,
               why=None if is_pass else result[1:].strip() or "not told",
               exchange={"said": result[1:].strip()[:500]})  # fmt: skip


def _name(heads: Sequence[str], row: Sequence[str], place: int, line: int) -> str:
    """The texts of a row, and the head of its column; with the line, since several tables may say the same."""
    texts = [cell for n, cell in enumerate(row) if n != place and cell and (n == 0 or _is_name(heads, row, n))]
    head = heads[place] if place < len(heads) else ""
    said = ", ".join(texts)[: LONGEST_NAME // 2] + (
        f": {head[: LONGEST_NAME // 2]}" if head and head != "Value" else ""
    )
    return f"{said} (line {line})"


def _is_name(heads: Sequence[str], row: Sequence[str], place: int) -> bool:
    """Whether a cell says what was measured: it is no number with a unit, and no difference of others."""
    value = read_cell(row[place])
    head = heads[place] if place < len(heads) else ""
    return not DERIVED.search(head) and (value is None or not (value.unit or unit_in(head) or unit_in(row[0])))


def _at_once(table: Table, row: Sequence[str], head: str) -> int | None:
    if table.heads[0].lower() in ("concurrency", "併發數") and row[0].isdigit():
        return int(row[0][:9])
    found = AT_ONCE.search(f"{row[0]} {head}")
    return int(found[1] or found[2]) if found else None


def _add_number(load: LoadBuilder, value: Stated, point: Point, label: str, head: str, title: str = "") -> None:
    """Add a number by what its row, its column or the title of its table say of it, in this order."""
    words, unit = f"{head} {label}", value.unit or unit_in(head) or unit_in(label)
    if unit == "%" and ACCURACY.search(words):
        _add_share(load, value, label, head)
    elif named := metric_of(words, unit) or metric_of(title, unit if unit else "-"):
        statistic = statistic_of(words, value.is_most, named.metric)
        _add_stated(load, point, value, named.metric, named.factor, None, statistic)
    elif unit is not None:  # else a setting, or a count of something
        _add_stated(load, point, value, STATED, 1.0, unit, statistic_of(words, value.is_most))


def _add_stated(
    load: LoadBuilder, point: Point, value: Stated, metric: str, factor: float, unit: str | None, statistic: str
) -> None:
    """A number, or the two ends of a range."""
    about = [Reason(Code.STATED_AS_ABOUT)] if value.is_about else []
    if value.spread is not None:
        about.append(Reason(Code.SPREAD_COUNT_NOT_TOLD, values={"spread": f"{value.spread:g}"}))
    ends = {"mean" if value.spread is not None else statistic: value.low}
    if value.high is not None:
        ends, about = {"min": value.low, "max": value.high}, [Reason(Code.STATED_AS_RANGE), *about]
    for which, end in ends.items():
        load.result(point, metric, which, round(end * factor, 9), unit=unit, reasons=about)


def _add_share(load: LoadBuilder, value: Stated, label: str, head: str) -> None:
    task, subject = (head, label) if ACCURACY.search(head) else (label, head)
    share = round(value.low / 100, 9) if value.low <= 100 else None
    load.accuracy(
        task=f"{task}: {subject}"[:LONGEST_NAME], filter="none", metric="accuracy", value=share,
        reason=Reason(Code.SHARE_ABOVE_ONE if share is None else Code.ITEM_COUNT_NOT_TOLD),
    )  # fmt: skip


# --- columns without bars ---------------------------------------------------------------------------------------------
def aligned(line: str) -> tuple[str, list[Stated]] | None:
    """The label and the numbers, each with its unit, of a row whose bars were lost; None for any other line."""
    if len(line) > 400 or "|" in line:
        return None
    bare = re.sub(r" \([^()]{1,80}\)$", "", line.strip())
    found = list(UNIT.finditer(bare))
    values: list[Stated] = []
    end = len(bare)
    for one in reversed(found):
        if bare[one.end() : end].strip() or one["unit"] is None:
            break
        values.insert(0, stated(one))
        end = one.start()
    label = bare[:end].strip()
    return (label, values) if len(values) > 1 and label and not label.endswith((":", "=", ",")) else None


def _add_aligned(load: LoadBuilder, text: str) -> None:
    heads = ""
    for number, line in enumerate(text.splitlines(), 1):
        row = aligned(line)
        if row is None:
            heads = line.strip() or heads
            continue
        label, values = row
        for place, value in enumerate(values, 1):
            where = f"column {place} of {len(values)}"
            _add_number(load, value, Point(f"{label}: {where} ({heads[:80]}; line {number})"), label, where)


# --- lines of a name and a number -------------------------------------------------------------------------------------
def _add_lines(load: LoadBuilder, text: str) -> None:
    line, seen = 1, 0
    for found in LINE.finditer(text):
        line, seen = line + text.count("\n", seen, found.end()), found.end()
        value = stated(found)
        label = _label(found["label"], value)
        named = metric_of(label, value.unit)
        if named and not DERIVED.search(label):
            point = Point(f"{label[:LONGEST_NAME]} (line {line})")
            statistic = statistic_of(label, value.is_most, named.metric)
            _add_stated(load, point, value, named.metric, named.factor, None, statistic)


def _label(before: str, value: Stated) -> str:
    """The words that name a number: of its own line, unless these name nothing and began on the line above."""
    sentence = re.split(r"[.。!?] ", before)[-1]
    own = sentence.rsplit("\n", 1)[-1].strip(" -*•`")
    return own if metric_of(own, value.unit) else " ".join(sentence.split()).strip(" -*•`")
