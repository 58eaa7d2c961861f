"""The Berkeley Function Calling Leaderboard: BFCL_v4_<category>_result.json and _score.json, an object a line.

A score file counts an item that got no answer as a wrong one; the result file says so, and such items are errors here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from analysis.loads.accuracy import wilson
from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.source import Source
from collectors.imports.results.values import count, cut, dict_of, digest, list_of, number, text
from reasons import Code, Reason

TOOL = "bfcl"
METRIC, FILTER = "accuracy", "none"
NAMED = re.compile(r"BFCL_v\d+_(?P<category>\w+?)_(?P<kind>result|score)\.json")
CASES = "test_case_ids_to_generate.json"  # which cases were asked for, where it was not all of a category
FAILED = "Error during inference"
NONE_IS_RIGHT = "irrelevance"  # where the right answer is no call, an error counts as right too


def recognise(head: str) -> bool:
    """Whether a file begins as one of these does."""
    start = head.lstrip()
    is_score = start.startswith('{"accuracy":') and '"total_count"' in start[:300]
    return is_score or (start.startswith('{"id":') and '"result":' in start[:4096] and is_result(start))


def is_result(head: str) -> bool:
    """Whether a file's first bytes are those of a result file: an object a line, with the case's id first."""
    return bool(re.match(r'\{"id": "[^"]{1,100}", "result": ', head))


def is_score(source: Source) -> bool:
    """Whether a file is a score file: its first line has the accuracy, each further one an item."""
    return source.head.lstrip().startswith('{"accuracy":')


def category_of(name: str, fallback: str = "functions") -> str:
    """The category that a file is named after."""
    found = NAMED.fullmatch(name)
    return found["category"] if found else fallback


def read(source: Source, ticket: Ticket) -> list[LoadBuilder]:
    """The load of one file alone; raises ImportRefusedError."""
    load = new_load(ticket, None)
    category = category_of(source.name)
    add_category(load, category, source if is_score(source) else None, None if is_score(source) else source)
    return [load]


def new_load(ticket: Ticket, model: str | None) -> LoadBuilder:
    """A load without items yet, dated as its file."""
    return LoadBuilder(ticket, TOOL, None, TOOL, ticket.dated, model=model)


def cases_of(source: Source) -> dict[str, list[str]]:
    """The ids of the cases that were asked for, by category."""
    return {category: [str(one) for one in list_of(ids)] for category, ids in dict_of(source.json()).items()}


def add_category(
    load: LoadBuilder, category: str, score: Source | None, result: Source | None, cases: list[str] | None = None
) -> None:
    """Add one category by its two files, as far as they are there; raises ImportRefusedError.

    cases: the ids of those that were asked for; None: all of it.
    """
    if cases is not None:
        load.params |= {"cases": {**(load.params.get("cases") or {}), category: len(cases)}}
    answers = _answers(result) if result else {}
    if score is None:
        _add_unscored(load, category, answers)
        return
    head, wrong = _scored(score)
    known = list(dict.fromkeys([*answers, *wrong]))
    errors = {item for item in known if _why_error(answers.get(item)) or _why_error(wrong.get(item))}
    _add_accuracy(load, category, head, errors, wrong.keys(), cases, has_answers=bool(answers))
    for item in known:
        _add_item(load, category, item, wrong.get(item), answers.get(item))


def _add_accuracy(
    load: LoadBuilder, category: str, head: Mapping[str, Any], errors: set[str], wrong: Collection[str],
    cases: list[str] | None, has_answers: bool,
) -> None:  # fmt: skip
    part = {} if cases is None else {"cases": len(cases), "cases_hash": digest(sorted(cases))}
    about = {"task": category, "filter": FILTER, "metric": METRIC, "protocol": {"category": category} | part,
             "protocol_hash": digest([TOOL, category, *([part] if part else [])])}  # fmt: skip
    total, right = count(head.get("total_count")), count(head.get("correct_count"))
    if total is None or right is None:
        load.accuracy(**about, reason=Reason(Code.ITEM_COUNTS_NOT_TOLD))
        return
    right, n = right - len(errors.difference(wrong)), total - len(errors)
    unanswered = Reason(Code.ITEMS_WITHOUT_ANSWER, values={"errors": len(errors), "items": total}) if errors else None
    if not 0 <= right <= n or n == 0:
        load.accuracy(**about, n=0, reason=unanswered or Reason(Code.NO_ITEM_SCORED))
        return
    low, high = wilson(right, n)
    unsure = Reason(Code.ERRORS_MAY_COUNT_RIGHT) if NONE_IS_RIGHT in category and not has_answers else None
    load.accuracy(**about, correct=right, n=n, value=right / n, low=low, high=high, reason=unanswered or unsure)


def _add_unscored(load: LoadBuilder, category: str, answers: Mapping[str, Mapping[str, Any]]) -> None:
    errors = {item for item, answer in answers.items() if _why_error(answer)}
    reason = Reason(Code.NOT_SCORED_YET, values={"items": len(answers), "errors": len(errors)})
    load.accuracy(task=category, filter=FILTER, metric=METRIC, reason=reason)
    for item, answer in answers.items():
        load.accuracy_item(
            task=category, filter=FILTER, item_hash=digest([category, item]), item_id=item[:100],
            is_error=item in errors, why=_why_error(answer) or "not scored yet", answer=_shown(answer.get("result")),
        )  # fmt: skip


def _add_item(
    load: LoadBuilder, category: str, item: str, wrong: Mapping[str, Any] | None, answer: Mapping[str, Any] | None
) -> None:
    failure = _why_error(answer) or _why_error(wrong)
    why = failure or "; ".join(str(one) for one in list_of((wrong or {}).get("error")))
    load.accuracy_item(
        task=category, filter=FILTER, item_hash=digest([category, item]), item_id=item[:100],
        score=None if failure else 0.0 if wrong else 1.0, is_error=failure is not None,
        why=text(why) or ("wrong" if wrong else None),
        target=_shown((wrong or {}).get("possible_answer")), answer=_shown((answer or {}).get("result")),
    )  # fmt: skip


def _shown(value: Any) -> str | None:
    return None if value is None else str(cut(value))


def _why_error(record: Mapping[str, Any] | None) -> str | None:
    """Why an item has no answer, by its line in either file; None where it has one, right or wrong."""
    if record is None:
        return None
    said = record.get("result", record.get("model_result_raw"))
    if isinstance(said, str) and said.startswith(FAILED):
        return said[:500]
    return "the tool ended in a traceback" if "traceback" in record else None


def _answers(source: Source) -> dict[str, Mapping[str, Any]]:
    """The items of a result file by their ids."""
    found: dict[str, Mapping[str, Any]] = {}
    for line, value in source.json_lines():
        answer = dict_of(value)
        item = text(answer.get("id"))
        if item is None or "result" not in answer:
            raise source.refusal(line, "this is no answer of BFCL's")
        found[item] = answer
    return found


def _scored(source: Source) -> tuple[Mapping[str, Any], dict[str, Mapping[str, Any]]]:
    """The first line of a score file, and its failed items by their ids."""
    head: Mapping[str, Any] = {}
    wrong: dict[str, Mapping[str, Any]] = {}
    for line, value in source.json_lines():
        row = dict_of(value)
        item = text(row.get("id"))
        if line == 1 and number(row.get("accuracy")) is not None:
            head = row
        elif item is None or row.get("valid") is not False:
            raise source.refusal(line, "this is no scored item of BFCL's")
        else:
            wrong[item] = row
    total, right = count(head.get("total_count")), count(head.get("correct_count"))
    if total is not None and right is not None and len(wrong) != total - right:
        said = f"it says {total - right} failed items and holds {len(wrong)}: it is cut off"
        raise source.refusal(len(wrong) + 1, said)
    return head, wrong
