"""Results in YAML: of a script, and of GuideLLM."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.imports.results.readers import reader_of
from collectors.imports.results.source import ResultFile
from tests.collectors.imports.captured import load_of

SCRIPT = (
    "# measured on one card\n"
    "model: acme/a-7b\n"
    "results:\n"
    "  baseline:\n"
    "    max_num_seqs: 256\n"
    "    throughput_tokens_per_sec: 3800  # of all\n"
    "    p95_latency_ms: 720.5\n"
    "  tuned:\n"
    "    throughput_tokens_per_sec: 4650\n"
    "    p95_latency_ms: 580\n"
)


def test_a_scripts_yaml_is_read_like_its_json(tmp_path: Path) -> None:
    path = tmp_path / "results.yaml"
    path.write_text(SCRIPT)
    load = load_of(path)
    assert load.model == "acme/a-7b" and load.tool == "records"
    assert [(row.metric, row.statistic, row.value) for row in load.result_rows] == [
        ("output_tps", "stated", 3800.0), ("e2e_ms", "p95", 720.5),
        ("output_tps", "stated", 4650.0), ("e2e_ms", "p95", 580.0),
    ]  # fmt: skip
    assert "baseline" in load.result_rows[0].point and "tuned" in load.result_rows[2].point


def test_guidellms_yaml(tmp_path: Path) -> None:
    path = tmp_path / "benchmarks.yml"
    path.write_text(
        'metadata:\n  guidellm_version: "0.5.0"\n'
        'args:\n  model: "a-7b"\n'
        "benchmarks:\n"
        "  - config:\n      strategy:\n        type_: concurrent\n        streams: 4\n"
        '      backend:\n        model: "acme/a-7b"\n'
        "    metrics:\n"
        "      request_totals:\n        successful: 22\n        errored: 0\n        incomplete: 1\n"
        "      time_to_first_token_ms:\n        successful:\n          mean: 65.5\n          count: 22\n"
    )
    load = load_of(path)
    assert (load.tool, load.tool_version, load.model) == ("guidellm", "0.5.0", "acme/a-7b")
    assert [(row.metric, row.statistic, row.value, row.concurrency) for row in load.result_rows] == [
        ("requests", "total", 22.0, 4), ("failed_requests", "total", 0.0, 4),
        ("incomplete_requests", "total", 1.0, 4), ("ttft_ms", "mean", 65.5, 4),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "content",
    [
        "services:\n  vllm:\n    image: a\n    timeout_ms: 5\n",  # nothing measured
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{c}: &{c} [{', '.join([f'*{p}'] * 10)}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True))
        + "ttft_ms: 5\ntpot_ms: 5\n",
        "ttft_ms: " + "[" * 5000,
    ],
)
def test_other_yaml_is_none(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(content)
    assert reader_of(ResultFile(path, path.name)) is None or "yaml" not in str(reader_of(ResultFile(path, path.name)))
