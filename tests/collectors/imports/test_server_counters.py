"""The text of a server's /metrics, brought as a result: totals and means since its start, and never a speed."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.imports.result_import import ResultImporter
from collectors.imports.results.readers import reader_of, unknown_file_reason
from collectors.imports.results.source import ResultFile
from engines import BY_NAME
from tests.collectors.imports.captured import results_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text

FIXTURES = Path(__file__).parents[2] / "fixtures" / "metrics"
CHOSEN_LINES = """vllm:prompt_tokens_total{engine="0",model_name="acme/small"} 12000.0
vllm:generation_tokens_total{engine="0",model_name="acme/small"} 5000.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="acme/small"} 2.5
vllm:time_to_first_token_seconds_count{engine="0",model_name="acme/small"} 10.0
"""
SPEEDS = {"output_tps", "decode_tps", "prompt_tps", "total_tps", "request_tps"}


def values_of(name: str, metric: str) -> list[float]:
    lines = (FIXTURES / name).read_text().splitlines()
    return [float(line.rpartition(" ")[2]) for line in lines if line.partition("{")[0].partition(" ")[0] == metric]


@pytest.mark.parametrize("frame", ["{}", "Here are my metrics:\n\n```\n{}```\n\nIs the TTFT bad?\n"])
@pytest.mark.parametrize(
    ("name", "engine", "tokens", "histogram"),
    [
        ("vllm-0.32-ngram.txt", "vLLM", "vllm:generation_tokens_total", "vllm:time_to_first_token_seconds"),
        ("sglang-0.5.23.txt", "SGLang", "sglang:generation_tokens_total", "sglang:time_to_first_token_seconds"),
        ("llamacpp-draft.txt", "llama.cpp", "llamacpp:tokens_predicted_total", None),
    ],
)
def test_counters_and_means(
    tmp_path: Path, name: str, engine: str, tokens: str, histogram: str | None, frame: str
) -> None:
    text = frame.replace("{}", (FIXTURES / name).read_text())
    (load,) = loads_of_text(tmp_path, "metrics.txt", text)
    rows = results_of(load)
    assert load.tool == f"{engine} /metrics"
    assert BY_NAME[str(load.server_config["engine"])].title == engine
    totals = {row.point: row.value for row in rows if row.metric == "stated"}
    assert totals["since the server's start: generated tokens"] == sum(values_of(name, tokens))
    means = {row.metric: (row.value, row.n) for row in rows if row.statistic == "mean"}
    if histogram is None:
        assert means == {}
    else:
        (total_s,), (count,) = (values_of(name, f"{histogram}{end}") for end in ("_sum", "_count"))
        assert means["ttft_ms"] == (pytest.approx(total_s / count * 1e3), count)
    assert not SPEEDS & {row.metric for row in rows}
    assert any("since the server's start" in note for note in load.notes)


def test_chosen_lines_without_buckets(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", f"After the load:\n\n```\n{CHOSEN_LINES}```\n")
    assert load.model == "acme/small"
    assert [(row.point, row.metric, row.value, row.n) for row in results_of(load)] == [
        ("since the server's start: prompt tokens", "stated", 12000, None),
        ("since the server's start: generated tokens", "stated", 5000, None),
        ("since the server's start: requests with a first token", "stated", 10, None),
        ("since the server's start", "ttft_ms", 250, 10),
    ]


def test_ranks_are_told_apart_and_the_start_is_named(tmp_path: Path) -> None:
    text = (FIXTURES / "vllm-0.32-dp2.txt").read_text() + "process_start_time_seconds 1.79520209311e+09\n"
    (load,) = loads_of_text(tmp_path, "metrics.txt", text)
    tokens = {row.point: row.value for row in results_of(load) if row.point.endswith("generated tokens")}
    assert tokens == {
        "since the server's start, engine 0: generated tokens": 5376,
        "since the server's start, engine 1: generated tokens": 6400,
    }
    assert any("2026-11-20" in note for note in load.notes)


def test_metrics_beside_a_benchmark(tmp_path: Path) -> None:
    text = f"```\n{CHOSEN_LINES}```\n\nThe benchmark: Mean TTFT 95.5 ms, output 450.5 tok/s\n"
    loads = loads_of_text(tmp_path, "post.md", text)
    assert sorted(load.tool for load in loads) == ["document", "vLLM /metrics"]
    assert {row.value for load in loads for row in results_of(load)} == {12000, 5000, 10, 250, 95.5, 450.5}


def test_metrics_are_results_but_no_log_becomes_one_by_them(tmp_path: Path) -> None:
    path = tmp_path / "post.txt"
    importer = ResultImporter(None, None)  # type: ignore[arg-type]
    path.write_text((FIXTURES / "vllm-0.32-ngram.txt").read_text())
    assert importer.recognises(path, path.name)
    log = (
        "INFO 11-20 10:00:00 [loggers.py:116] Engine 000: Avg prompt throughput: 4.1 tokens/s, Avg generation "
        "throughput: 10.4 tokens/s, Running: 0 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.0%, Prefix cache hit "
        "rate: 0.0%\n"
    )
    path.write_text(log * 20 + CHOSEN_LINES)
    assert not importer.recognises(path, path.name)


@pytest.mark.parametrize(
    "text",
    [
        "# HELP vllm:generation_tokens_total Tokens.\n# TYPE vllm:generation_tokens_total counter\n"
        'vllm:generation_tokens_total{engine="0"} 0.0\n',
        "# HELP python_info Python.\n# TYPE python_info gauge\npython_info 1.0\n",
    ],
)
def test_metrics_that_state_nothing_are_refused_by_their_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "metrics.txt"
    path.write_text(text)
    source = ResultFile(path, path.name)
    assert reader_of(source) is None
    assert "the metrics of a server in Prometheus' text format" in unknown_file_reason(source)
