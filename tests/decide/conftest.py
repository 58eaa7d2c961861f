"""The stored runs of the reports serve here too."""

from tests.report.conftest import report, runs

__all__ = ["report", "runs"]
