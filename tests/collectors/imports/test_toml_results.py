"""Results of scripts in TOML."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.imports.results.readers import reader_of
from collectors.imports.results.source import ResultFile
from tests.collectors.imports.captured import load_of, results_of

RUNS = (
    'model = "acme/a-7b"\nmeasured = 2026-05-03T10:00:00Z\n\n[settings]\nmax_num_seqs = 256\n\n'
    "[[runs]]\nconcurrency = 1\nttft_p50_ms = 81.5\noutput_tok_s = 45.5\n\n"
    "[[runs]]\nconcurrency = 4\nttft_p50_ms = 95.5\noutput_tok_s = 120.5\n"
)


def test_tables_of_runs_are_records(tmp_path: Path) -> None:
    path = tmp_path / "results.toml"
    path.write_text(RUNS)
    load = load_of(path)
    assert load.model == "acme/a-7b"
    assert [(row.metric, row.statistic, row.value, row.concurrency) for row in results_of(load)] == [
        ("ttft_ms", "median", 81.5, 1), ("output_tps", "stated", 45.5, 1),
        ("ttft_ms", "median", 95.5, 4), ("output_tps", "stated", 120.5, 4),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ['[server]\nport = 8000\nmodel = "a"\n', "ttft_ms = [1, 2\n", "a = 99999999999999999999999\n"]
)
def test_other_toml_is_not_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.toml"
    path.write_text(text)
    assert reader_of(ResultFile(path, path.name)) is None
