"""The same printed numbers, posted in every way that people post them, give the same reading, each at its own arm."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest

from collectors.imports.results.builder import LoadBuilder
from load_records import Result
from tests.collectors.imports.captured import loads_of

OUTPUTS = {
    "vllm bench serve": """============ Serving Benchmark Result ============
Successful requests:                     1200
Maximum request concurrency:             8
Output token throughput (tok/s):         1450.25
---------------Time to First Token----------------
Mean TTFT (ms):                          120.55
==================================================""",
    "llama-bench": """| model          |     size |  params | backend | ngl |  test |            t/s |
| -------------- | -------: | ------: | ------- | --: | ----: | -------------: |
| small 8B Q4_K  | 4.50 GiB |  8.03 B | CUDA    |  99 | pp512 | 3200.55 ± 20.55 |
| small 8B Q4_K  | 4.50 GiB |  8.03 B | CUDA    |  99 | tg128 |  150.55 ± 0.55 |""",
    "ollama run": """total duration:       3.05s
prompt eval count:    119 token(s)
prompt eval rate:     512.15 tokens/s
eval count:           90 token(s)
eval rate:            10.65 tokens/s""",
    "trtllm-bench": """===========================================================
= PERFORMANCE OVERVIEW
===========================================================
Request Throughput (req/sec):                     2.75
Total Output Throughput (tokens/sec):             2850.55""",
    "genai-perf": """                NVIDIA GenAI-Perf | LLM Metrics
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━━┓
┃                         Statistic ┃      avg ┃      p99 ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━┩
│          Time To First Token (ms) │ 1,385.45 │ 4,027.65 │
│ Output Token Throughput (per sec) │ 1,023.45 │      N/A │
└───────────────────────────────────┴──────────┴──────────┘""",
    "llama-benchy": """| model    |   test |           t/s |     peak t/s |       ttfr (ms) |   e2e_ttft (ms) |
|:---------|-------:|--------------:|-------------:|----------------:|----------------:|
| small-8b | pp2048 | 475.05 ± 8.65 |              | 4065.95 ± 53.05 | 4065.95 ± 53.05 |
| small-8b |  tg512 |  48.85 ± 0.15 | 50.05 ± 0.05 |                 |                 |""",
    "wrk": """Running 30s test @ http://localhost:8000/v1/completions
  4 threads and 8 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     2.55s   500.05ms   5.05s    70.00%
Requests/sec:      3.35""",
}
Key = tuple[str, str, float | None, int | None]


def with_other_numbers(output: str) -> str:
    return re.sub(r"(\d\.\d{0,2})5(?!\d)", r"\g<1>7", output)


def fenced(text: str) -> str:
    return f"```\n{text}\n```\n"


def behind(prefix: str) -> Callable[[str], str]:
    return lambda text: "\n".join(prefix + line for line in text.splitlines())


WAYS: dict[str, Callable[[str], str]] = {
    "bare": lambda text: text,
    "indented": lambda text: f"My run\n\n{behind('    ')(text)}\n\nIs it slow?\n",
    "in an item": lambda text: f"- Here it is:\n{behind('  ')(fenced(text))}\n",
    "quoted": lambda text: behind("> ")(fenced(text)),
    "preformatted": lambda text: f"<pre><code>{text.replace('>', '&gt;')}</code></pre>\n",
    "preformatted lines": lambda text: f"<pre>\n{text}\n</pre>\n",
    "coloured": lambda text: fenced(f"\x1b[0;32m{text}\x1b[0m"),
    "colours without escape": lambda text: fenced("\n".join(f"[32m{line}[0m" for line in text.splitlines())),
    "of a container": lambda text: fenced(behind("bench-1  | ")(text)),
    "of a pod": lambda text: fenced(behind("[pod/bench-7d9f/main] ")(text)),
    "of the journal": lambda text: fenced(behind("Mar 05 10:11:12 host bench[4711]: ")(text)),
    "logged by vLLM": lambda text: fenced(behind("INFO 11-28 12:34:56 [bench.py:123] ")(text)),
    "logged by a process": lambda text: fenced(behind("(APIServer pid=1) INFO 11-28 12:34:56 [bench.py:1] ")(text)),
    "logged with a time in brackets": lambda text: fenced(behind("[2026-01-02 03:04:05] INFO run.py:33: ")(text)),
    "logged with a name": lambda text: fenced(behind("2026-01-02 03:04:05,678 - INFO - bench - ")(text)),
    "logged by Loguru": lambda text: fenced(behind("2026-01-02 03:04:05.678 | INFO     | bench:main:33 - ")(text)),
    "logged with a level": lambda text: fenced(behind("[INFO] ")(text)),
    "below a comment": lambda text: f"<!-- Write it like this:\nDecode: 100 tok/s -->\n\n{fenced(text)}",
    "beside a machine": lambda text: (
        f"| Part | Value |\n|---|---|\n| GPU | RTX 9090 |\n| RAM | 64 GB |\n\n{fenced(text)}"
    ),
    "below progress": lambda text: fenced(f"100%|██████████| 100/100 [01:00<00:00,  1.66it/s]\n{text}"),
    "between words": lambda text: f"I have 2 GPUs with 24 GB each.\n\n{fenced(text)}\nEDIT: a typo.\n",
}
STAMPED = ("of the journal",)  # the reader of vLLM's summaries takes the time from each line itself
FLAGS = ("--enable-prefix-caching", "-ctk q8_0 -ctv q8_0")
NAMES = ("Baseline", "With MTP")
ARMS: dict[str, tuple[tuple[str, str], Callable[[str, str], str]]] = {
    "headings of HTML": (NAMES, lambda name, text: f"<h3>{name}</h3>\n<pre>\n{text}\n</pre>\n"),
    "underlined headings": (NAMES, lambda name, text: f"{name}\n========\n\n{fenced(text)}"),
    "labels": (NAMES, lambda name, text: f"{name}:\n{fenced(text)}"),
    "lines": (NAMES, lambda name, text: f"{name}\n\n{fenced(text)}"),
    "items": (NAMES, lambda name, text: f"- {name}\n\n{fenced(text)}"),
    "numbers": (NAMES, lambda name, text: f"1. {name}:\n\n{behind('   ')(fenced(text))}\n"),
    "pictures": (NAMES, lambda name, text: f"🔴 {name}\n{fenced(text)}"),
    "summaries": (NAMES, lambda name, text: f"<details><summary>{name}</summary>\n\n{fenced(text)}\n</details>\n"),
    "headings of summaries": (
        NAMES, lambda name, text: f"### {name}\n<details>\n<summary>Output</summary>\n\n{fenced(text)}\n</details>\n",
    ),
    "sentences": (NAMES, lambda name, text: f"This is what I get here, {name}:\n\n{fenced(text)}"),
    "flags": (FLAGS, lambda name, text: f"`{name}`\n\n{fenced(text)}"),
    "commands": (FLAGS, lambda name, text: f"```\nvllm serve acme/small-8b {name}\n```\n\n{fenced(text)}"),
    "commands of root": (FLAGS, lambda name, text: fenced(f"root@4f3c:/app# python bench.py --n 8 {name}\n{text}")),
    "printed commands": (FLAGS, lambda name, text: fenced(f"+ vllm serve acme/small-8b {name}\n{text}")),
    "wrapped commands": (FLAGS, lambda name, text: fenced(f"$ python bench.py \\\n  --n 8 \\\n  {name}\n{text}")),
}  # fmt: skip
ARMS_OF_ONE_PASSAGE: dict[str, tuple[tuple[str, str], Callable[[str, str], str]]] = {
    "commands in a row": (FLAGS, lambda name, text: f"$ ./run.sh -n 8 {name}\n{text}\n"),
    "remarks": (NAMES, lambda name, text: f"# {name}\n{text}\n"),
    "remarks between stars": (NAMES, lambda name, text: f"*** {name} ***\n{text}\n"),
    "remarks above commands": (NAMES, lambda name, text: f"# {name}\n$ python bench.py --n 8\n{text}\n"),
    "rules": (NAMES, lambda name, text: f"=== {name} ===\n{text}\n"),
    "underlined names": (NAMES, lambda name, text: f"{name}\n------------\n{text}\n"),
}  # fmt: skip


@lru_cache
def keys_of_fenced(text: str) -> Counter[Key]:
    with tempfile.TemporaryDirectory() as folder:
        return keys_of(read(Path(folder), fenced(text)))


def read(tmp_path: Path, text: str) -> list[tuple[LoadBuilder, Result]]:
    path = tmp_path / "post.md"
    path.write_bytes(text.encode())
    return [(load, row) for load in loads_of(path) for row in load.result_rows]


def keys_of(rows: list[tuple[LoadBuilder, Result]]) -> Counter[Key]:
    return Counter((row.metric, row.statistic, row.value, row.concurrency) for _, row in rows)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("tool", OUTPUTS)
def test_a_way_of_posting_changes_no_reading(tmp_path: Path, tool: str, way: str) -> None:
    keys = keys_of_fenced(OUTPUTS[tool])
    if tool == "vllm bench serve" and way in STAMPED:
        return
    assert keys_of(read(tmp_path, WAYS[way](OUTPUTS[tool]))) == keys


@pytest.mark.parametrize("form", [*ARMS, *ARMS_OF_ONE_PASSAGE])
@pytest.mark.parametrize("tool", OUTPUTS)
def test_each_value_is_read_at_its_own_arm(tmp_path: Path, tool: str, form: str) -> None:
    texts = (OUTPUTS[tool], with_other_numbers(OUTPUTS[tool]))
    wanted = list(map(keys_of_fenced, texts))
    names, write = (ARMS | ARMS_OF_ONE_PASSAGE)[form]
    passages = [write(name, text) for name, text in zip(names, texts, strict=True)]
    post = "\n".join(passages) if form in ARMS else fenced("\n".join(passages))
    rows = read(tmp_path, post)
    of_arms = [[(load, row) for load, row in rows if name in f"{load.params} {row.point}"] for name in names]
    assert [keys_of(rows_of_arm) for rows_of_arm in of_arms] == wanted
    assert len(rows) == sum(map(len, of_arms))


def loads_of_text(tmp_path: Path, text: str) -> list[LoadBuilder]:
    path = tmp_path / "post.md"
    path.write_text(text)
    return loads_of(path)


def test_what_a_heading_states_is_of_its_arm(tmp_path: Path) -> None:
    headings = ("DeepSeek-9-Lite", "Qwen9-MoE-A2B-Chat TP=2")
    outputs = (OUTPUTS["vllm bench serve"], with_other_numbers(OUTPUTS["vllm bench serve"]))
    passages = (f"{heading}\n\n{fenced(output)}" for heading, output in zip(headings, outputs, strict=True))
    first, second = loads_of_text(tmp_path, "\n".join(passages))
    assert (first.model, first.server_config) == ("DeepSeek-9-Lite", {})
    assert (second.model, second.server_config) == ("Qwen9-MoE-A2B-Chat", {"tensor_parallel": 2})


def test_names_with_settings_in_brackets_above_each_output(tmp_path: Path) -> None:
    names = ("Qwen9-32B(dp=2, tp=4)", "Qwen9-32B-FP8(dp=1, tp=8)")
    output = OUTPUTS["vllm bench serve"]
    loads = loads_of_text(tmp_path, fenced("\n".join(f"{name}\n{output}" for name in names)))
    assert [load.params["heading"] for load in loads] == list(names)
    assert [load.server_config for load in loads] == [{"tensor_parallel": 4}, {"tensor_parallel": 8}]


def test_model_of_the_next_section_is_not_that_of_the_results_above(tmp_path: Path) -> None:
    text = f"{fenced(OUTPUTS['vllm bench serve'])}\n### Qwen9-14B-Chat, the other benchmark\n\nIt fails.\n"
    assert [load.model for load in loads_of_text(tmp_path, text)] == [None]


def test_commands_of_a_list_are_not_those_of_the_outputs_below(tmp_path: Path) -> None:
    commands = "".join(f"```\nvllm serve acme/small-8b {flags}\n```\n" for flags in FLAGS)
    outputs = (OUTPUTS["ollama run"], with_other_numbers(OUTPUTS["ollama run"]))
    loads = loads_of_text(tmp_path, f"{commands}\n" + "\n".join(map(fenced, outputs)))
    assert [load.params.get("heading") for load in loads] == [None, None]


def test_headings_of_answers_are_no_arms(tmp_path: Path) -> None:
    answer = "# Plan {}\nHere is how I would do that for you.\n\n# Step {}\n- take the first one.\n\n"
    outputs = (OUTPUTS["ollama run"], with_other_numbers(OUTPUTS["ollama run"]))
    text = "".join(f"{answer.format(number, number)}{output}\n" for number, output in enumerate(outputs))
    assert [load.params.get("heading") for load in loads_of_text(tmp_path, fenced(text))] == [None, None]


def test_two_files_of_one_post(tmp_path: Path) -> None:
    text = '[{"n_prompt": 512, "n_gen": 0, "avg_ts": %s, "model_filename": "small.gguf"}]\n'
    first, second = loads_of_text(
        tmp_path, "\n".join(f"## {name}\n\n{fenced(text % speed)}" for name, speed in (("Baseline", 1.5), ("New", 2.5)))
    )
    assert [(load.params["heading"], load.result_rows[0].value) for load in (first, second)] == [
        ("Baseline", 1.5), ("New", 2.5),
    ]  # fmt: skip


def test_title_of_a_summary_is_no_arm(tmp_path: Path) -> None:
    evaluation = "Accuracy: 0.955\nInvalid: 0.000\nLatency: 57.5 s\nOutput throughput: 2430.5 token/s"
    text = f"{fenced(evaluation)}\n{fenced(OUTPUTS['vllm bench serve'])}"
    assert [load.params.get("heading") for load in loads_of_text(tmp_path, text)] == [None, None]


def test_heading_that_is_an_item(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, f"- the main branch - again\n\n{fenced(OUTPUTS['vllm bench serve'])}")
    assert load.params["heading"] == "the main branch - again"


def test_fences_within_the_answers_of_a_file_make_no_text_of_it(tmp_path: Path) -> None:
    line = '{"model": "small-8b", "prompt": "p%d", "ttft_ms": %d.5, "output": "```json\\n{}\\n```"}\n'
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(line % (number, number) for number in (1, 2)))
    (load,) = loads_of(path)
    assert (load.tool, [row.value for row in load.result_rows]) == ("records", [1.5, 2.5])
