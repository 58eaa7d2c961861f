"""Results behind the head of a logger's record, and an engine's own records, which stay as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.imports.result_import import ResultImporter
from tests.collectors.imports.captured import load_of, results_of
from tests.collectors.imports.test_prose_figures import results_of_text

HEADS = {
    "vLLM": "INFO 11-28 12:34:56 [bench.py:123] ",
    "vLLM before 0.9": "INFO 11-28 12:34:56 bench.py:123] ",
    "a process of vLLM": "(EngineCore pid=1) INFO 2026-01-02 03:04:05 [bench.py:33] ",
    "Python": "2026-01-02 03:04:05,678 - INFO - bench - ",
    "a time in brackets": "[2026-01-02 03:04:05] INFO module.py:33: ",
    "Loguru": "2026-01-02 03:04:05.678 | INFO     | bench:main:33 - ",
    "Rich": "[01/02/26 03:04:05] INFO     ",
    "glog": "I0102 03:04:05.123456 12345 bench.cc:123] ",
    "TensorRT-LLM": "[01/02/2026-03:04:05] [TRT-LLM] [I] ",
    "a level": "INFO - ",
    "a level in brackets": "[INFO] ",
}
LINES = ("Throughput: 1450.5 tok/s", "TTFT p50: 81.5 ms", "Decode is 45.5 tok/s at c=8, TPOT is 12.5 ms")
RECORD = (
    "INFO 11-28 12:34:56 [loggers.py:123] Engine 000: Avg prompt throughput: 100.5 tokens/s, Avg generation "
    "throughput: 45.2 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.5%\n"
)


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_results_behind_the_head_of_a_record(tmp_path: Path, head: str) -> None:
    text = "The new build:\n\n{}\n"
    rows, bare_rows = (
        results_of_text(tmp_path, text.format("\n".join(prefix + line for line in LINES))) for prefix in (head, "")
    )
    assert [(row.metric, row.statistic, row.value, row.concurrency, row.point) for row in rows] == [
        (row.metric, row.statistic, row.value, row.concurrency, row.point) for row in bare_rows
    ]
    assert [row.value for row in rows] == [1450.5, 81.5, 45.5, 12.5]


@pytest.mark.parametrize("head", [HEADS["a process of vLLM"], HEADS["TensorRT-LLM"]])
def test_lines_behind_the_head_of_an_engine_are_no_log_of_it(tmp_path: Path, head: str) -> None:
    path = tmp_path / "post.md"
    path.write_text("".join(f"{head}{line}\n" for line in LINES))
    importer = ResultImporter(None, None)  # type: ignore[arg-type]  # neither is used to recognise a file
    assert importer.recognises(path, path.name)


def test_an_engines_own_records_in_a_post_stay_as_they_are(tmp_path: Path) -> None:
    rows = results_of_text(tmp_path, f"Decode is 52.5 tok/s here:\n\n```\n{RECORD}```\n")
    assert [(row.metric, row.value, row.point) for row in rows] == [
        ("prompt_tps", 100.5, "Avg prompt throughput (line 4)"),
        ("output_tps", 45.2, "Avg generation throughput (line 4)"),
        ("decode_tps", 52.5, "Decode is 52.5 tok/s here: (line 1)"),
    ]


REPORT = """===== short prompts =====
  run-1  ttft= 81ms  decode_TPS= 45.5
  run-2  ttft= 91ms  decode_TPS= 44.5
  run-3  ttft= 86ms  decode_TPS= 46.5

===== long prompts =====
  run-1  ttft= 181ms  decode_TPS= 35.5
  run-2  ttft= 191ms  decode_TPS= 34.5
"""


CACHE_LINE = "INFO 11-28 12:34:50 [kv_cache_utils.py:1291] GPU KV cache size: 876,006 tokens\n"


def test_a_report_with_a_line_of_a_log_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "bench.txt"
    importer = ResultImporter(None, None)  # type: ignore[arg-type]  # neither is used to recognise a file
    path.write_text(f"{REPORT}\n===== the server's last line =====\n{CACHE_LINE}")
    assert importer.recognises(path, path.name)
    rows = results_of(load_of(path))
    assert [row.value for row in rows if row.metric == "ttft_ms"] == [81.0, 91.0, 86.0, 181.0, 191.0]
    for post in (CACHE_LINE * 4 + REPORT, f"{CACHE_LINE}Decode: 45.5 tok/s\n"):
        path.write_text(post)
        assert importer.recognises(path, path.name)
    for log in (REPORT + CACHE_LINE * 20, CACHE_LINE * 4):
        path.write_text(log)
        assert not importer.recognises(path, path.name)


def test_what_follows_a_level_in_brackets_keeps_its_indentation(tmp_path: Path) -> None:
    path = tmp_path / "post.md"
    path.write_text(
        "[INFO] Small\n[INFO]   ttft_ms=81.5 tpot_ms=12.5\n[INFO] Large\n[INFO]   ttft_ms=91.5 tpot_ms=14.5\n"
    )
    rows = results_of(load_of(path))
    assert [row.point.partition(":")[0] for row in rows] == ["Small", "Small", "Large", "Large"]
