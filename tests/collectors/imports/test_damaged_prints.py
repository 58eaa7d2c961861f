"""What tools print, as people paste it: beside each other, in bars, behind a process, wrapped, in bold."""

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


@pytest.mark.parametrize("wrap", [", \n", ",\n ", ', "mean_\n'])
def test_json_that_a_terminal_wrapped(tmp_path: Path, wrap: str) -> None:
    first, rest = '{"backend": "sglang", "sharegpt_output_len": null, "max_concurrency": 4, "duration": 20.5', (
        'ttft_ms": 81.5, "completed": 40, "request_throughput": 1.95, "output_throughput": 410.5}'
    )  # fmt: skip
    rest = rest if wrap.endswith("mean_\n") else f'"mean_{rest}'
    path = tmp_path / "post.txt"
    path.write_text(f"max_prefill:8192,is_dp:False\n{first}{wrap}{rest}\n")
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
