"""Printed output as people paste it: beside each other, in bars, behind a process, wrapped, in bold."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.captured import accuracies_of, load_of, loads_of, results_of, value

SUMMARY = """\
============ Serving Benchmark Result ============
Successful requests:                     1,200
Maximum request concurrency:             8
Benchmark duration (s):                  81.50
Request throughput (req/s):              14.72
Output token throughput (tok/s):         1,450.25
---------------Time to First Token----------------
Mean TTFT (ms):                          120.50
P99 TTFT (ms):                           310.75
==================================================
"""
OTHER_SUMMARY = SUMMARY.replace("1,450.25", "1700.75").replace("81.50", "69.25").replace("14.72", "17.33")


def in_bars(text: str) -> str:
    return "\n".join(f"| {line} |" for line in text.splitlines())


def behind_bars(text: str) -> str:
    lines = [f"{line} |" for line in text.splitlines()]
    return "\n".join(["text lengths 12 80 |", "|---|", *lines])


def of_a_process(text: str) -> str:
    return "\n".join(f"(Bench pid=4711) {line}" for line in text.splitlines())


def of_a_rank(text: str) -> str:
    return "\n".join(f"[rank0]: {line}" for line in text.splitlines())


def coloured(text: str) -> str:
    return "\n".join(f"\x1b[32m{line}\x1b[0m" for line in text.splitlines())


def with_breaks(text: str) -> str:
    return "<br>\n".join(text.splitlines())


def in_bold(text: str) -> str:
    lines = (line.partition(":") for line in text.splitlines())
    return "\n".join(f"- **{name.strip()}:** `{rest.strip()}`" if colon else name for name, colon, rest in lines)


@pytest.mark.parametrize(
    "paste", [in_bars, behind_bars, of_a_process, of_a_rank, coloured, with_breaks, in_bold], ids=lambda f: f.__name__
)
def test_summary_as_it_was_pasted(tmp_path: Path, paste: object) -> None:
    path = tmp_path / "post.md"
    assert callable(paste)
    path.write_text(paste(SUMMARY))
    load = load_of(path)
    rows = results_of(load)
    assert (load.tool, {row.concurrency for row in rows}) == ("vllm bench serve", {8})
    assert [(row.metric, row.statistic, row.value) for row in rows] == [
        ("requests", "total", 1200), ("duration_s", "total", 81.5), ("request_tps", "mean", 14.72),
        ("output_tps", "mean", 1450.25), ("ttft_ms", "mean", 120.5), ("ttft_ms", "p99", 310.75),
    ]  # fmt: skip


def test_summaries_beside_each_other(tmp_path: Path) -> None:
    rows = zip(["--kv = auto", *SUMMARY.splitlines()], ["--kv = fp8", *OTHER_SUMMARY.splitlines()], strict=True)
    path = tmp_path / "post.md"
    path.write_text("Both:\n```\n" + "\n".join(f"{left:70}{right}" for left, right in rows) + "\n```\n")
    loads = loads_of(path)
    assert [load.params["heading"] for load in loads] == ["--kv = auto", "--kv = fp8"]
    assert [value(results_of(load), "output_tps", "mean") for load in loads] == [1450.25, 1700.75]
    assert [len(results_of(load)) for load in loads] == [6, 6]


REPORT = """\
===========================================================
= PERFORMANCE OVERVIEW
===========================================================
Request Throughput (req/sec):                     {requests}
Total Output Throughput (tokens/sec):             {tokens}
Total Latency (ms):                               91250.5
"""


def test_reports_of_trtllm_bench_below_each_other(tmp_path: Path) -> None:
    reports = [REPORT.format(requests=2.75, tokens=2850.5), REPORT.format(requests=3.25, tokens=3010.5)]
    path = tmp_path / "post.md"
    path.write_text("PRE:\n\n```\n{}```\n\nPOST:\n```\n{}```\n".format(*reports))
    loads = loads_of(path)
    assert [load.params["heading"] for load in loads] == ["PRE", "POST"]
    assert [value(results_of(load), "output_tps", "mean") for load in loads] == [2850.5, 3010.5]
    assert len({load.load_id for load in loads}) == 2


def test_part_of_the_timings_of_ollama(tmp_path: Path) -> None:
    path = tmp_path / "post.md"
    arms = [(version, f"eval duration: {s}s\neval rate: **{tps} tokens/s**") for version, s, tps in
            (("0.7.0", 5.5, 13.5), ("0.6.8", 1.75, 36.25))]  # fmt: skip
    path.write_text("\n".join(f"**{version}:**\neval count:           74 token(s)\n{part}\n" for version, part in arms))
    loads = loads_of(path)
    assert [load.params["heading"] for load in loads] == ["0.7.0", "0.6.8"]
    assert [value(results_of(load), "decode_tps", "stated") for load in loads] == [13.5, 36.25]
    assert [value(results_of(load), "decode_ms", "stated") for load in loads] == [5500, 1750]


def test_task_of_a_few_shot_script_of_sglang(tmp_path: Path) -> None:
    path = tmp_path / "post.md"
    path.write_text(
        "```\npython test/few_shot_gsm8k.py --num 200\nAccuracy: 0.925\nInvalid: 0.000\nLatency: 47.5 s\n"
        "Output throughput: 482.5 token/s\n```\n"
    )
    load = load_of(path)
    assert [(row.task, row.value) for row in accuracies_of(load)] == [("gsm8k", 0.925)]
    assert value(results_of(load), "output_tps", "mean") == 482.5


EVALUATION = "Accuracy: 0.955\nInvalid: 0.000\nLatency: 57.5 s\nOutput throughput: 2430.5 token/s\n"


@pytest.mark.parametrize(
    ("before", "after", "between"),
    [
        ("- ", "", "\n"),
        ("**", "", "\n"),
        ("", "", ", "),
        ("2026-10-10 10:00:00,250 INFO ", "", "\n"),
        ("2026-10-10T10:00:00.1234567Z ", "", "\n"),
    ],
)
def test_evaluation_of_sglang_as_it_was_pasted(tmp_path: Path, before: str, after: str, between: str) -> None:
    lines = [f"{before}{line}{after}" for line in EVALUATION.splitlines()]
    path = tmp_path / "post.md"
    path.write_text(between.join(line.replace(":", ":**", 1) if before == "**" else line for line in lines))
    load = load_of(path)
    assert [row.value for row in accuracies_of(load)] == [0.955]
    rows = results_of(load)
    assert (value(rows, "duration_s", "total"), value(rows, "output_tps", "mean")) == (57.5, 2430.5)
    assert "e2e_ms" not in {row.metric for row in rows}


def test_times_of_bench_multiturn_are_seconds(tmp_path: Path) -> None:
    path = tmp_path / "post.md"
    path.write_text(
        "Performance metrics summary:\n  Total requests: 640 at 2.0 requests per second\n"
        "  Average Prompt Length: 2050.50 tokens\n  Average TTFT: 0.35\n  P90 TTFT: 0.75\n  Median ITL: 0.0125\n"
        "  Average latency: 1.25\n  Output token throughput: 410.50 tokens per second\n\nAverage TTFT: 0.95\n"
    )
    rows = results_of(load_of(path))
    assert [(row.metric, row.statistic, row.value) for row in rows] == [
        ("requests", "total", 640), ("prompt_tokens", "mean", 2050.5), ("ttft_ms", "mean", 350),
        ("ttft_ms", "p90", 750), ("itl_ms", "median", 12.5), ("e2e_ms", "mean", 1250), ("output_tps", "mean", 410.5),
    ]  # fmt: skip


def test_times_of_the_load_test_of_fireworks_are_milliseconds(tmp_path: Path) -> None:
    path = tmp_path / "post.md"
    path.write_text(
        f"{'=' * 35} Summary {'=' * 36}\nProvider           : openai\nModel              : /models/baichuan2-13b\n"
        "Prompt Tokens      : 39.0\nConcurrency        : QPS 50.0 constant\nTime To First Token: 5.75\n"
        f"Latency Per Token  : 135.5\nTotal Latency      : 28838.5\nQps                : 2.25\n{'=' * 80}\n"
    )
    assert [(row.metric, row.value, row.unit) for row in results_of(load_of(path))] == [
        ("ttft_ms", 5.75, "ms"), ("stated", 135.5, "ms"), ("stated", 28838.5, "ms"),
    ]  # fmt: skip


def test_numbered_warm_ups_beside_a_heading_of_warm_ups(tmp_path: Path) -> None:
    path = tmp_path / "post.txt"
    path.write_text(
        "  warm-2     wall= 11.25s  ttft=   109ms  wall_TPS= 90.75  decode_TPS= 91.65\n\n=== measured (2) ===\n"
        "  run-1      wall= 10.95s  ttft=    81ms  wall_TPS= 91.45  decode_TPS= 92.15\n\n=== warmups (1) ===\n"
        "  warm-1     wall=  3.15s  ttft=    86ms  wall_TPS=128.15  decode_TPS=131.75\n"
    )
    load = load_of(path)
    assert [(row.metric, row.value) for row in results_of(load)] == [
        ("duration_s", 10.95), ("ttft_ms", 81), ("e2e_tps", 91.45), ("decode_tps", 92.15),
    ]  # fmt: skip
    assert load.notes == ["The warm-up was left out: 2 of the lines."]


def test_runs_with_a_warm_cache_are_no_warm_ups(tmp_path: Path) -> None:
    path = tmp_path / "post.txt"
    path.write_text("cold-1  ttft=  950ms  decode_TPS= 91.65\nwarm-1  ttft=  109ms  decode_TPS= 92.65\n")
    assert [row.value for row in results_of(load_of(path)) if row.metric == "ttft_ms"] == [950, 109]


def test_total_time_of_a_slot(tmp_path: Path) -> None:
    lead = "[39625] 1.18.129.551 I slot print_timing: id  0 | task 28 | "
    path = tmp_path / "post.md"
    path.write_text(
        f"```\n{lead}prompt eval time = 20002.25 ms / 27277 tokens (   0.73 ms per token,  1363.75 tokens per second)\n"
        f"{lead}       eval time =    1969.95 ms /   128 tokens (   15.39 ms per token,    64.95 tokens per second)\n"
        f"{lead}      total time =   21972.25 ms / 27405 tokens\n{lead}   graphs reused =         45\n```\n"
    )
    rows = [(row.metric, row.value) for row in results_of(load_of(path))]
    assert rows[-1] == ("duration_s", 21.97225)
    assert len(rows) == 5


def test_shares_in_the_columns_of_tasks(tmp_path: Path) -> None:
    path = tmp_path / "post.md"
    path.write_text(
        "Method | arc_easy | piqa | avg | % recovery\n-- | -- | -- | -- | --\n"
        "bf16 | 0.7985 | 0.8145 | 0.8065 | 100.00%\nrtn | 0.7635 | - | 0.7635 | 99.82%\n"
    )
    load = load_of(path)
    assert [(row.task, row.value) for row in accuracies_of(load)] == [
        ("arc_easy: bf16", 0.7985), ("piqa: bf16", 0.8145), ("arc_easy: rtn", 0.7635),
    ]  # fmt: skip
    assert results_of(load) == []


@pytest.mark.parametrize("wrap", [", \n", ",\n ", ', "mean_\n'])
def test_json_that_a_terminal_wrapped(tmp_path: Path, wrap: str) -> None:
    first, text = '{"backend": "sglang", "sharegpt_output_len": null, "max_concurrency": 4, "duration": 20.5', (
        'ttft_ms": 81.5, "completed": 40, "request_throughput": 1.95, "output_throughput": 410.5}'
    )  # fmt: skip
    text = text if wrap.endswith("mean_\n") else f'"mean_{text}'
    path = tmp_path / "post.txt"
    path.write_text(f"max_prefill:8192,is_dp:False\n{first}{wrap}{text}\n")
    rows = results_of(load_of(path))
    assert {row.concurrency for row in rows} == {4}
    assert (value(rows, "output_tps", "mean"), value(rows, "ttft_ms", "mean")) == (410.5, 81.5)


def test_the_only_model_of_a_text_is_that_of_a_summary(tmp_path: Path) -> None:
    path = tmp_path / "post.md"
    path.write_text(f"Qwen3-8B on one card:\n\n```\n{SUMMARY}```\n")
    load = load_of(path)
    assert load.model == "Qwen3-8B"
    assert load.notes == ["Read from the words around the results: Qwen3-8B."]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("It runs at 2.5-2.75+t/s here.", {("stated", "min", 2.5), ("stated", "max", 2.75)}),
        ("推理速度只有不到0.25tokens/s", {("stated", "max", 0.25)}),
        ("推理速度大约 12.5 tokens/s", {("stated", "stated", 12.5)}),
        ("TTFT was ~9 700 ms cold.", {("ttft_ms", "stated", 9700)}),
        ("TTFT was 23 000 ms cold.", {("ttft_ms", "stated", 23000)}),
        ("TTFT at c=8 350 ms.", {("ttft_ms", "stated", 350)}),
    ],
)
def test_numbers_as_people_write_them(tmp_path: Path, text: str, values: set[tuple[str, str, float]]) -> None:
    path = tmp_path / "post.md"
    path.write_text(f"{text}\n")
    assert {(row.metric, row.statistic, row.value) for row in results_of(load_of(path))} == values
