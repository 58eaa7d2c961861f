"""The numbers that lead the tiles of a run."""

from __future__ import annotations

import pytest

from analysis.metrics.registry import MetricId
from reports.runs.run_metrics import MetricValue
from web.compare.run_tiles import lead_metrics

STREAM, TTFT, PER_STEP = MetricId("stream_tps"), MetricId("ttft_ms", 1), MetricId("tokens_per_step")
OUTPUT_4, OUTPUT_16 = MetricId("output_tps", 4), MetricId("output_tps", 16)
TYPICAL = MetricId("typical_tps", 1)


@pytest.mark.parametrize(
    ("values", "lead"),
    [
        ({STREAM: 50.0, OUTPUT_4: 9.0, OUTPUT_16: 8.0, PER_STEP: 1.0, TTFT: 30.0}, [STREAM, OUTPUT_16, TTFT]),
        ({STREAM: 50.0, OUTPUT_4: 9.0, OUTPUT_16: None, PER_STEP: 2.5, TTFT: 30.0}, [STREAM, OUTPUT_4, PER_STEP]),
        ({STREAM: None, TYPICAL: 40.0}, [TYPICAL]),
        ({STREAM: None}, []),
    ],
)
def test_lead_is_stream_output_and_drafts_or_first_token(
    values: dict[MetricId, float | None], lead: list[MetricId]
) -> None:
    assert lead_metrics({metric: MetricValue(value) for metric, value in values.items()}) == lead
