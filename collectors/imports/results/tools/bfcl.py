"""Reads the Berkeley Function Calling Leaderboard: BFCL_v4_<category>_result.json and _score.json (JSON lines).

A score file counts an item without an answer as wrong; the result file shows it, and here such items are errors.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from analysis.loads.accuracy import wilson
from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.source import ResultFile
from collectors.imports.results.values import count, cut, dict_of, digest, list_of, number, text
from reasons import Code, Reason

TOOL = "bfcl"
METRIC, FILTER = "accuracy", "none"
FILE_NAME = re.compile(r"BFCL_v\d+_(?P<category>\w+?)_(?P<kind>result|score)\.json")
CASES = "test_case_ids_to_generate.json"  # the selected cases, if not all of a category
ERROR_PREFIX = "Error during inference"
NO_CALL_CATEGORY = "irrelevance"  # the correct answer is no call, so that an error counts as correct too


def recognise(head: str) -> bool:
    """Return whether a file has the first bytes of a BFCL file."""
    start = head.lstrip()
    is_score = start.startswith('{"accuracy":') and '"total_count"' in start[:300]
    return is_score or (start.startswith('{"id":') and '"result":' in start[:4096] and is_result(start))


def is_result(head: str) -> bool:
    """Return whether a file has the first bytes of a result file: one object per line, the case id first."""
    return bool(re.match(r'\{"id": "[^"]{1,100}", "result": ', head))


def is_score(source: ResultFile) -> bool:
    """Return whether a file is a score file: accuracy in the first line, then one item per line."""
    return source.head.lstrip().startswith('{"accuracy":')


def category_of(name: str, fallback: str = "functions") -> str:
    """Return the category in a file name."""
    match = FILE_NAME.fullmatch(name)
    return match["category"] if match else fallback


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of a single file; raises ImportRefusedError."""
    load = new_load(ticket, None)
    category = category_of(source.name)
    add_category(load, category, source if is_score(source) else None, None if is_score(source) else source)
    return [load]


def new_load(ticket: Ticket, model: str | None) -> LoadBuilder:
    """Return a load without items, dated as its file."""
    return LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, model=model)


def cases_of(source: ResultFile) -> dict[str, list[str]]:
    """Return the ids of the selected cases by category."""
    return {category: [str(case_id) for case_id in list_of(ids)] for category, ids in dict_of(source.json()).items()}


def add_category(
    load: LoadBuilder,
    category: str,
    score: ResultFile | None,
    result: ResultFile | None,
    cases: list[str] | None = None,
) -> None:
    """Add one category from its result and score files, of which one may be missing; raises ImportRefusedError.

    cases: ids of the selected cases; None: all.
    """
    if cases is not None:
        load.params |= {"cases": {**(load.params.get("cases") or {}), category: len(cases)}}
    answers = _answers(result) if result else {}
    if score is None:
        _add_unscored(load, category, answers)
        return
    head, wrong_items = _read_score(score)
    item_ids = list(dict.fromkeys([*answers, *wrong_items]))
    errors = {
        item_id for item_id in item_ids if _error_text(answers.get(item_id)) or _error_text(wrong_items.get(item_id))
    }
    _add_accuracy(load, category, head, errors, wrong_items.keys(), cases, has_answers=bool(answers))
    for item_id in item_ids:
        _add_item(load, category, item_id, wrong_items.get(item_id), answers.get(item_id))


def _add_accuracy(
    load: LoadBuilder, category: str, head: Mapping[str, Any], errors: set[str], wrong_items: Collection[str],
    cases: list[str] | None, has_answers: bool,
) -> None:  # fmt: skip
    case_subset = {} if cases is None else {"cases": len(cases), "cases_hash": digest(sorted(cases))}
    fields = {"task": category, "filter": FILTER, "metric": METRIC, "protocol": {"category": category} | case_subset,
             "protocol_hash": digest([TOOL, category, *([case_subset] if case_subset else [])])}  # fmt: skip
    total, correct = count(head.get("total_count")), count(head.get("correct_count"))
    if total is None or correct is None:
        load.accuracy(**fields, reason=Reason(Code.ITEM_COUNTS_NOT_TOLD))
        return
    correct, n = correct - len(errors.difference(wrong_items)), total - len(errors)
    unanswered = Reason(Code.ITEMS_WITHOUT_ANSWER, values={"errors": len(errors), "items": total}) if errors else None
    if not 0 <= correct <= n or n == 0:
        load.accuracy(**fields, n=0, reason=unanswered or Reason(Code.NO_ITEM_SCORED))
        return
    low, high = wilson(correct, n)
    uncertainty = Reason(Code.ERRORS_MAY_COUNT_RIGHT) if NO_CALL_CATEGORY in category and not has_answers else None
    load.accuracy(
        **fields, correct=correct, n=n, value=correct / n, low=low, high=high, reason=unanswered or uncertainty
    )


def _add_unscored(load: LoadBuilder, category: str, answers: Mapping[str, Mapping[str, Any]]) -> None:
    errors = {item for item, answer in answers.items() if _error_text(answer)}
    reason = Reason(Code.NOT_SCORED_YET, values={"items": len(answers), "errors": len(errors)})
    load.accuracy(task=category, filter=FILTER, metric=METRIC, reason=reason)
    for item_id, answer in answers.items():
        load.accuracy_item(
            task=category, filter=FILTER, item_hash=digest([category, item_id]), item_id=item_id[:100],
            is_error=item_id in errors, why=_error_text(answer) or "not scored yet",
            answer=_text_of(answer.get("result")),
        )  # fmt: skip


def _add_item(
    load: LoadBuilder,
    category: str,
    item_id: str,
    wrong_item: Mapping[str, Any] | None,
    answer: Mapping[str, Any] | None,
) -> None:
    failure = _error_text(answer) or _error_text(wrong_item)
    reason = failure or "; ".join(str(message) for message in list_of((wrong_item or {}).get("error")))
    load.accuracy_item(
        task=category, filter=FILTER, item_hash=digest([category, item_id]), item_id=item_id[:100],
        score=None if failure else 0.0 if wrong_item else 1.0, is_error=failure is not None,
        why=text(reason) or ("wrong" if wrong_item else None),
        target=_text_of((wrong_item or {}).get("possible_answer")), answer=_text_of((answer or {}).get("result")),
    )  # fmt: skip


def _text_of(value: Any) -> str | None:
    return None if value is None else str(cut(value))


def _error_text(record: Mapping[str, Any] | None) -> str | None:
    """Return why an item has no answer, from its line in either file; None if it has one, right or wrong."""
    if record is None:
        return None
    result = record.get("result", record.get("model_result_raw"))
    if isinstance(result, str) and result.startswith(ERROR_PREFIX):
        return result[:500]
    return "the tool ended in a traceback" if "traceback" in record else None


def _answers(source: ResultFile) -> dict[str, Mapping[str, Any]]:
    """Return the items of a result file by id."""
    answers: dict[str, Mapping[str, Any]] = {}
    for line, value in source.json_lines():
        answer = dict_of(value)
        item_id = text(answer.get("id"))
        if item_id is None or "result" not in answer:
            raise source.refusal(line, "this is not an answer of BFCL")
        answers[item_id] = answer
    return answers


def _read_score(source: ResultFile) -> tuple[Mapping[str, Any], dict[str, Mapping[str, Any]]]:
    """Return the first line of a score file and its failed items by id."""
    head: Mapping[str, Any] = {}
    wrong_items: dict[str, Mapping[str, Any]] = {}
    for line, value in source.json_lines():
        row = dict_of(value)
        item_id = text(row.get("id"))
        if line == 1 and number(row.get("accuracy")) is not None:
            head = row
        elif item_id is None or row.get("valid") is not False:
            raise source.refusal(line, "this is not a scored item of BFCL")
        else:
            wrong_items[item_id] = row
    total, correct = count(head.get("total_count")), count(head.get("correct_count"))
    if total is not None and correct is not None and len(wrong_items) != total - correct:
        problem = f"it reports {total - correct} failed items but has {len(wrong_items)}: it is cut off"
        raise source.refusal(len(wrong_items) + 1, problem)
    return head, wrong_items
