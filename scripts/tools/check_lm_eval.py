"""`make test-tools`: lm-eval, driven as the Run page drives it, on a small local task and a real llama.cpp server.

By completions and by chat. The server is first queried directly: for half of the items the right answer is the word
that it gives, for the others a different one, so the accuracy and each item's result are known. No model hub is
contacted. Prints a table; exits 1 if a demand is not met.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

import httpx

from domain import JsonValue
from scripts.tools.check_tools import real
from scripts.tools.driving import LoadDriver, drive_name, driving
from scripts.tools.tool_demands import table

ITEMS, MOST_TOKENS = 12, 8
QUESTIONS = [f"The driver of car {number} said" for number in range(10, 10 + ITEMS)]
WORD = r"(\S+)"  # the first of the answer
INVALID = "[invalid]"  # lm-eval's word for a text in which its filter found nothing
TASK = """task: pit_words
dataset_path: json
dataset_kwargs: {{data_files: {{test: {file}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer}}}}"
generation_kwargs: {{until: ["\\n"], max_gen_toks: {tokens}, do_sample: false, temperature: 0.0}}
filter_list:
  - name: word
    filter: [{{function: regex, regex_pattern: "(\\\\S+)"}}, {{function: take_first}}]
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
metadata: {{version: 1.0}}
"""


def write_task(folder: Path, answers: list[str]) -> None:
    """Write the task; the server's answer is right for every second item."""
    folder.mkdir()
    answers_given = [answer if index % 2 else f"no-{index}" for index, answer in enumerate(answers)]
    lines = [
        json.dumps({"question": question, "answer": two})
        for question, two in zip(QUESTIONS, answers_given, strict=True)
    ]
    (folder / "words.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "pit_words.yaml").write_text(TASK.format(file=folder / "words.jsonl", tokens=MOST_TOKENS))


def asked_directly(url: str, endpoint: str, question: str) -> str:
    """Return the server's answer to this item, as the task's filter reads it."""
    body: dict[str, JsonValue] = {"max_tokens": MOST_TOKENS, "temperature": 0.0, "stop": ["\n"], "seed": 1234}
    if endpoint == "chat":
        body |= {"messages": [{"role": "user", "content": question}]}
        answer = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=120).json()
        text = answer["choices"][0]["message"]["content"]
    else:
        answer = httpx.post(f"{url}/v1/completions", json=body | {"prompt": question}, timeout=120).json()
        text = answer["choices"][0]["text"]
    match = re.search(WORD, text or "")
    return match[1] if match else INVALID


def check(on: LoadDriver, url: str, endpoint: str, executable: Path, tasks: Path) -> tuple[list[str], list[str]]:
    """Return a row of the table, and the unmet demands."""
    truth = [asked_directly(url, endpoint, question) for question in QUESTIONS]
    write_task(tasks, truth)
    right = sum(answer != INVALID for answer in truth[1::2])
    more: list[JsonValue] = ["--include_path", str(tasks)]
    params: dict[str, JsonValue] = {"executable": str(executable), "tasks": "pit_words", "endpoint": endpoint}
    load = on.put(drive_name("lm-eval"), params | {"more": more})
    (stored,) = on.rows("SELECT correct, n FROM accuracy WHERE load_id = ?", load.load_id)
    items = on.rows("SELECT item_id, answer FROM accuracy_items WHERE load_id = ?", load.load_id)
    answers_by_item = {int(item["item_id"]): item["answer"] for item in items}
    unmet = [] if right > 1 else [f"{endpoint}: the server gave too few words to check anything by"]
    unmet += (
        [] if (stored["correct"], stored["n"]) == (right, ITEMS) else [f"{endpoint}: {stored}, not {right} of {ITEMS}"]
    )
    unmet += [
        f"{endpoint}: item {index} got {answers_by_item.get(index)!r}, and the server answers {answer!r}"
        for index, answer in enumerate(truth)
        if answers_by_item.get(index) != answer
    ]
    cells = [endpoint, load.version or "", str(stored["n"]), str(stored["correct"]), str(right), str(load.steps)]
    return [*cells, f"{load.seconds:.0f}"], unmet


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tools", type=Path, help="a folder with an environment lm-eval")
    executable = parser.parse_args().tools.absolute() / "lm-eval/bin/lm_eval"
    if not executable.exists():
        print(f"lm-eval: not at {executable}")
        return 0
    rows, unmet = [], []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with real(folder) as (url, config), driving(folder / "data", url, config) as on:
            for endpoint in ("completions", "chat"):
                row, missed = check(on, url, endpoint, executable, folder / f"tasks-{endpoint}")
                rows.append(row)
                unmet += missed
    head = ["endpoint", "lm-eval", "items", "right", "right by hand", "looks at progress", "s"]
    print(table(head, rows))
    print("\n".join(f"NOT MET {demand}" for demand in unmet) or "all demands met")
    return int(bool(unmet))


if __name__ == "__main__":
    sys.exit(main())
