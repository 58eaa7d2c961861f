"""A client of Pitwall for notebooks and scripts: this one file and httpx, nothing else of Pitwall.

    from pitwall_client import PitwallClient

    pitwall = PitwallClient("http://127.0.0.1:8501", token)  # ./pitwall token make sql:read
    pitwall.compare([run.run_id for run in pitwall.runs("qwen")]).answers[0].sentence

Copy the file or put the checkout on the path. Tables come as lists of rows, as pyarrow tables or as pandas frames.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import httpx

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

TIMEOUT_S = 60.0
ARROW = "application/vnd.apache.arrow.stream"
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")
RUNS_SQL = (
    "SELECT run_id, name, state, engine, model, started_at FROM runs "
    "WHERE contains(lower(concat_ws(' ', run_id, name)), '{words}') ORDER BY run_id DESC LIMIT {limit}"
)
METRICS_SQL = (
    "SELECT metric, title, concurrency, detail, value, unit, reason FROM metrics WHERE run_id = '{run_id}' ORDER BY ALL"
)


class PitwallRequestError(Exception):
    """A request that Pitwall refused, with its sentence and HTTP status."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run in a list."""

    run_id: str
    name: str
    state: str
    engine: str | None
    model: str | None
    started_at: datetime | None


@dataclass(frozen=True, slots=True)
class RunMetric:
    """A metric of an ended run in its unit; `value` is None with the code of the reason."""

    metric: str
    title: str
    concurrency: int | None  # concurrent requests; 0: as they arrive; None: any, or not applicable
    detail: str
    value: float | None
    unit: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class ComparedArm:
    """An arm against the first one.

    answer: better, worse, same, different (size unclear), unknown, seen_once, not_comparable or no_value. `ratio` is of
    the arm to the first arm, with its 95 % interval over server starts; None unless the arms may be ranked.
    """

    name: str
    answer: str
    sentence: str
    ratio: float | None
    interval: tuple[float, float] | None
    refusals: tuple[str, ...]  # titles of the guard's rows that forbid a ranking

    @property
    def is_ranked(self) -> bool:
        """Whether the guard lets this arm be ranked; one start each is ranked and still no claim."""
        return self.ratio is not None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answer of Pitwall's Compare page; `fields` is all of it, as `./pitwall compare --json` prints it."""

    objective: str
    answers: tuple[ComparedArm, ...]
    fields: Mapping[str, Any]


class PitwallClient:
    """A connection to one Pitwall; usable as a context manager. Its token needs the scope sql:read."""

    def __init__(self, url: str, token: str, timeout_s: float = TIMEOUT_S) -> None:
        """Raises ValueError for http to another machine, where the token would cross the network unencrypted."""
        address = httpx.URL(url.rstrip("/"))
        if address.scheme != "https" and address.host not in LOOPBACK_HOSTS:
            raise ValueError("Use https, or http on this machine: the token would be sent unencrypted.")
        headers = {"Authorization": f"Bearer {token.strip()}"}
        self._http = httpx.Client(base_url=address, headers=headers, timeout=timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of one SELECT, times as text. Raises PitwallRequestError, httpx.HTTPError."""
        rows: list[dict[str, Any]] = self._post("/api/sql", {"sql": sql}).json()["rows"]
        return rows

    def table(self, sql: str) -> pa.Table:
        """Return the rows of one SELECT with their types; needs pyarrow. Raises as `rows` does."""
        import pyarrow as pa

        return pa.ipc.open_stream(self._post("/api/sql", {"sql": sql}, ARROW).content).read_all()

    def frame(self, sql: str) -> pd.DataFrame:
        """Return the rows of one SELECT as a pandas frame; needs pyarrow and pandas. Raises as `rows` does."""
        return self.table(sql).to_pandas()

    def runs(self, words: str = "", limit: int = 50) -> list[ListedRun]:
        """Return the newest runs whose name or id contains the words. Raises as `rows` does."""
        rows = self.rows(RUNS_SQL.format(words=_quoted(words.lower()), limit=int(limit)))
        times = (row.pop("started_at") for row in rows)
        return [
            ListedRun(**row, started_at=datetime.fromisoformat(time) if time else None)
            for row, time in zip(rows, times, strict=True)
        ]

    def metrics(self, run_id: str) -> list[RunMetric]:
        """Return every metric of an ended run; none until Pitwall has computed them. Raises as `rows` does."""
        return [RunMetric(**row) for row in self.rows(METRICS_SQL.format(run_id=_quoted(run_id)))]

    def compare(
        self,
        run_ids: Sequence[str],
        *,
        objective: str | None = None,
        declare: Sequence[str] = (),
        margin: str | None = None,
        claim: str | None = None,
        workload: str | None = None,
    ) -> Comparison:
        """Compare runs as the page does, with the guard; the options are those of `./pitwall compare`.

        Raises PitwallRequestError, as for an unknown run or a single arm, and httpx.HTTPError.
        """
        words = {"objective": objective, "margin": margin, "claim": claim, "workload": workload}
        body = {"runs": list(run_ids), "declare": list(declare), **{k: v for k, v in words.items() if v is not None}}
        fields = self._post("/api/compare", body).json()
        return Comparison(fields["objective"], tuple(map(_arm, fields["answers"])), fields)

    def _post(self, path: str, body: Mapping[str, Any], accept: str = "application/json") -> httpx.Response:
        answer = self._http.post(path, json=body, headers={"Accept": accept})
        if answer.is_success:
            return answer
        try:
            sentence = str(answer.json()["error"])
        except (ValueError, KeyError, TypeError):
            sentence = f"Pitwall answered with status {answer.status_code}."
        raise PitwallRequestError(sentence, answer.status_code)


def _arm(fields: Mapping[str, Any]) -> ComparedArm:
    interval = fields["interval"]
    return ComparedArm(
        name=fields["other"],
        answer=fields["answer"],
        sentence=fields["sentence"],
        ratio=fields["ratio"],
        interval=(interval[0], interval[1]) if interval else None,
        refusals=tuple(row["title"] for row in fields["guard"] if row["standing"] == "matters"),
    )


def _quoted(text: str) -> str:
    """Return a text for a place between single quotes in SQL."""
    return text.replace("'", "''")
