"""The stored runs of the reports serve here too."""

from tests.web.report_export.conftest import report, runs

__all__ = ["report", "runs"]
