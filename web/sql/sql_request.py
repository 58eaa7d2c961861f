"""A statement of the SQL page with its outcome, in the viewer's session."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

from storage.sandbox.job import SqlAnswer, SqlRefusedError
from web.access.roles import current_session_id
from web.context import services
from web.sql.data_source import sandbox_of
from web.sql.history import HistoryEntry


class SqlRequest:
    """A statement that runs once, however often the page is rerun before its rows are there.

    Streamlit ends a script at its next use of the session when the viewer presses something: what the script has
    computed, but not yet stored there, would be lost. A rerun waits for the statement that runs already.
    """

    def __init__(self, sql: str, scope: str) -> None:
        """scope: whose runs it reads, as `current_scope` says."""
        self.sql, self.scope = sql, scope
        self._lock = threading.Lock()
        self._outcome: SqlAnswer | str | None = None

    def outcome(self) -> SqlAnswer | str:
        """Return the rows, or the reason why there are none; run the statement if it has not run yet."""
        with self._lock:
            if self._outcome is None:
                self._outcome = self._run()
            return self._outcome

    def _run(self) -> SqlAnswer | str:
        try:
            outcome: SqlAnswer | str = sandbox_of(self.scope).ask(self.sql)
        except SqlRefusedError as refusal:
            outcome = str(refusal)
        summary = outcome if isinstance(outcome, str) else describe_result(outcome)
        entry = HistoryEntry(self.sql, datetime.now(UTC), summary, self.scope)
        services().sql_history.add(current_session_id() or "", entry)
        return outcome


def describe_result(result: SqlAnswer) -> str:
    """Return a summary such as '12 rows in 8 ms'."""
    rows = result.table.num_rows
    return f"{rows:,} {'row' if rows == 1 else 'rows'} in {result.elapsed_ms:,.0f} ms"
