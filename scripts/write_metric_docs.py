"""Writes docs/metrics.md from the metric registry.

`.venv/bin/python -m scripts.write_metric_docs`; `make format` runs it, and a test fails if the file is stale.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from analysis.metrics.definition import Concurrency, RegisteredMetric, Section
from analysis.metrics.registry import METRICS
from reasons import Code
from web.words import UNKNOWN

METRICS_PAGE = Path(__file__).resolve().parents[1] / "docs" / "metrics.md"
HEAD = """# Metrics
Every number that Pitwall shows of a run, with its only definition. Runs, Run, Live, Compare, Explore, reports, CSV, the
command line, the HTTP API and the view `metrics` show these values and compute none themselves. This page is generated
from `analysis/metrics/registry.py` by `.venv/bin/python -m scripts.write_metric_docs`.

An arm's value is the mean over its server starts as stated; that of the compared objective covers the requests that
both arms share. A number that is unknown has a reason, never 0. Numbers that another tool or a document states keep its
definition, its digits and its name: they stand apart and are not sorted among these.
"""


def metrics_page() -> str:
    """Return the text of docs/metrics.md."""
    return HEAD + "".join(part for section in Section for part in _section(section))


def _section(section: Section) -> Iterator[str]:
    yield f"\n## {section.value}\n"
    for metric in METRICS:
        if metric.section is section:
            yield _metric(metric)


def _metric(metric: RegisteredMetric) -> str:
    title = ", ".join(filter(None, [metric.title, metric.label]))
    better = {True: "higher is better", False: "lower is better", None: "neither direction is better"}
    facts = [
        f"{metric.unit or 'a count'}, {better[metric.higher_is_better]}",
        f"statistic: {metric.statistic}; of {metric.subject.value}",
        *([f"concurrency: {metric.concurrency.value}"] if metric.concurrency is not Concurrency.NOT_APPLICABLE else []),
        f"sources, the first that has it: {', '.join(metric.sources)}; repeats: {metric.repeats}",
        f"computed by `{metric.computed_by}`",
        *([f"column `run_reports.{metric.key}`"] if metric.column else []),
        *([f"objective `{metric.objective}`"] if metric.objective else []),
        *([f"unknown if {'; '.join(map(_reason, metric.unknown))}"] if metric.unknown else []),
    ]
    return f"\n### {title}\n`{metric.key}`: {metric.definition} *Example:* {metric.example}\n\n" + "".join(
        f"- {fact}\n" for fact in facts
    )


def _reason(code: Code) -> str:
    """Return the sentence of a reason with its values' names in place of values."""
    return UNKNOWN[code](_Placeholders())


class _Placeholders(dict[str, object]):
    """Values of a reason that stand for themselves."""

    def __missing__(self, name: str) -> object:
        return ["n"] if name == "together" else "n"


if __name__ == "__main__":
    METRICS_PAGE.write_text(metrics_page())
