"""A console in which a tool printed several loads, one below the other."""

from __future__ import annotations

from pathlib import Path

from tests.collectors.imports.captured import loads_of, results_of

CONSOLE = """\
{level} - [INFO] genai_perf.wrapper:164 - Running Perf Analyzer : 'perf_analyzer -m org/a-7b --async \
--concurrency-range {level} --endpoint v1/completions'
              NVIDIA GenAI-Perf | LLM Metrics
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━━┓
┃                    Statistic ┃      avg ┃      p99 ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━┩
│         Request latency (ms) │ 2,237.50 │ 9,488.50 │
│ Request throughput (per sec) │     4.50 │      N/A │
└──────────────────────────────┴──────────┴──────────┘
"""


def test_levels_of_the_commands_that_genai_perf_runs(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text("\n".join(CONSOLE.format(level=level) for level in (10, 20)))
    loads = loads_of(path)
    assert [(load.model, {row.concurrency for row in results_of(load)}) for load in loads] == [
        ("org/a-7b", {10}), ("org/a-7b", {20}),
    ]  # fmt: skip
