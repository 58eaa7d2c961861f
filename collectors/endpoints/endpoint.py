"""Reads a server's endpoints once per tick: /metrics as raw counters, and llama.cpp's /slots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus

from collectors.base import Clock, Collector, OutageError, UnavailableError, UnreadableError
from collectors.endpoints.exposition import has_prefix, read_points
from collectors.endpoints.latency_reader import LatencyReader
from domain import Config, JsonValue, Run, RunState
from engines import BY_NAME
from engines.base import CounterMap, Engine, MetricPoint, Scrape
from engines.flag_table import words_of_flag
from engines.routed_models import ROUTER_REFUSAL
from machine.bounded_http import BadAnswerError, BoundedHttp, HttpAnswer, NoAnswerError, ReadLimits
from samples import Batch, CounterSample, Event, LatencySample, Sample

# /metrics of a large vLLM has 1 MB; /slots of older llama.cpp repeats whole prompts.
LIMITS = ReadLimits(body_bytes=16 << 20, total_s=5.0)
SWITCHED_OFF = (404, 501)  # llama.cpp answers 501 without --metrics, SGLang 404 without --enable-metrics
RETRY_S = 60.0
AUTH_STATUSES = (401, 403)
ROUTER_TEXT = (
    "the server is a router, and each model behind it has a server and counters of its own: "
    "enter the router's URL on Launch to see them"
)


@dataclass(slots=True)
class _ServerConnection:
    """Connection to one run's server; `missing_until_s`: next try of each endpoint that it does not offer."""

    base_url: str
    http: BoundedHttp
    has_answered: bool = False
    missing_until_s: dict[str, float] = field(default_factory=dict)
    reported_paths: set[str] = field(default_factory=set)
    ranks: set[tuple[str, int]] = field(default_factory=set)  # seen so far: (definition, engine index)
    latencies: LatencyReader = field(default_factory=LatencyReader)
    is_busy: bool = False  # by its counters at the last read; only of a server that may sleep when idle

    def with_missing_ranks(self, samples: list[CounterSample]) -> list[CounterSample]:
        """Add an empty sample for each missing rank, so that a sum over ranks is known to be incomplete."""
        current_ranks = {(sample.definition, sample.engine_index) for sample in samples}
        definitions = {sample.definition for sample in samples}
        missing = sorted(rank for rank in self.ranks - current_ranks if rank[0] in definitions)
        self.ranks |= current_ranks
        return samples + [CounterSample(samples[0].run_id, samples[0].ts, samples[0].mono_s, *rank) for rank in missing]


class EndpointCollector(Collector):
    """Scrapes /metrics (and /slots) once per second and run; nothing else should scrape llama.cpp at the same time."""

    name = "endpoint"

    def __init__(
        self,
        clock: Clock | None = None,
        period_s: float = 1.0,
        api_key_of: Callable[[str], str | None] = lambda run_id: None,
    ) -> None:
        """`api_key_of` returns the API key of a run's server by run id, None if Pitwall has none."""
        self.period_s = period_s
        self._api_key_of = api_key_of
        self._clock = clock or Clock()
        self._connections: dict[str, _ServerConnection] = {}

    def collect(self, run: Run, is_last: bool = False) -> Iterable[Batch]:
        """Return a raw sample per engine rank and slot; nothing while the server starts or after it was stopped.

        Raises OutageError when the server stops answering, UnreadableError if the response is not metrics, and
        UnavailableError if the server has no counters or they are switched off.
        """
        engine = BY_NAME.get(run.config.engine)
        if engine is None or engine.counters is None or engine.metrics_path is None:
            raise UnavailableError(f"no counters are known for {engine.title if engine else 'this kind of server'}")
        if run.base_url is None:
            return []
        connection = self._connection(run.id, run.base_url)
        try:
            samples = self._read(run, engine, engine.counters, connection, is_last)
        except BadAnswerError as problem:
            raise UnreadableError(str(problem)) from None
        except (NoAnswerError, OutageError) as problem:
            if _is_silence_expected(run.state, connection.has_answered):
                return []
            if isinstance(problem, OutageError):
                raise
            raise OutageError(f"{run.base_url} does not answer: {problem}") from None
        connection.has_answered = True
        return [Batch(tuple(samples))]

    def finish(self, run: Run) -> Iterable[Batch]:
        """Make a last scrape, if the server still answers."""
        if run.id not in self._connections:
            return []
        try:
            return self.collect(run, is_last=True)
        except (OutageError, UnavailableError, UnreadableError):
            return []

    def forget(self, run_id: str) -> None:
        """Close the connection to this run's server and drop what is known about its endpoints."""
        connection = self._connections.pop(run_id, None)
        if connection is not None:
            connection.http.close()

    def _connection(self, run_id: str, base_url: str) -> _ServerConnection:
        connection = self._connections.get(run_id)
        if connection is None or connection.base_url != base_url:
            self.forget(run_id)
            key = self._api_key_of(run_id)
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            connection = _ServerConnection(base_url, BoundedHttp(base_url.rstrip("/"), headers))
            self._connections[run_id] = connection
        return connection

    def _read(
        self, run: Run, engine: Engine, counters: CounterMap, connection: _ServerConnection, is_last: bool
    ) -> list[Sample]:
        samples: list[Sample] = []
        points: list[MetricPoint] = []
        metrics = self._get(connection, engine.metrics_path)
        if metrics is not None:
            points = _points(metrics, engine, counters, is_lapse=bool(connection.ranks))
            scrape = self._scrape(run, points)
            samples += connection.with_missing_ranks(counters.counter_samples(scrape))
            samples += _latencies(scrape, metrics, engine, counters, connection, is_last)
        slots = (
            self._get(connection, engine.slots_path) if self._may_read_slots(run, engine, connection, samples) else None
        )
        if slots is not None:
            samples += counters.slot_samples(replace(self._scrape(run, points), slots=_json(slots, engine)))
        if metrics is None and slots is None:
            raise UnavailableError("; ".join(_switched_off_text(engine, path) for path in connection.missing_until_s))
        return samples + self._missing_events(run, engine, connection)

    def _may_read_slots(
        self, run: Run, engine: Engine, connection: _ServerConnection, samples: Sequence[Sample]
    ) -> bool:
        """Whether to read the slots now: always, or of a server that may sleep when idle only around its requests.

        A read of the slots wakes such a server, or restarts its idle time; one of the counters does neither.
        """
        is_stated = _is_set_to_sleep(run.config, engine)
        is_command_known = run.config.launcher != "attach" or bool(run.config.argv)
        counts = [sample.requests_running for sample in samples if isinstance(sample, CounterSample)]
        if not is_stated and (is_command_known or not counts):  # without counters nothing else shows its requests
            return True
        was_busy, connection.is_busy = connection.is_busy, any(counts)
        return connection.is_busy or was_busy

    def _get(self, connection: _ServerConnection, path: str | None) -> HttpAnswer | None:
        """Return the response, or None if the endpoint is switched off."""
        now = self._clock.mono_s()
        if path is None or connection.missing_until_s.get(path, now) > now:
            return None
        answer = connection.http.get(path, LIMITS)
        if answer.status_code in SWITCHED_OFF:
            connection.missing_until_s[path] = now + RETRY_S
            return None
        connection.missing_until_s.pop(path, None)
        connection.reported_paths.discard(path)
        if answer.status_code in AUTH_STATUSES:
            has_key = "Authorization" in connection.http.headers
            reason = "rejected the API key" if has_key else "requires an API key, which Pitwall does not have"
            raise UnavailableError(f"{path} {reason}")
        if answer.status_code == HTTPStatus.BAD_REQUEST and ROUTER_REFUSAL in answer.content:
            raise UnavailableError(ROUTER_TEXT)
        if not answer.is_ok:
            raise OutageError(f"{path} answers {answer.status_code} {answer.reason_phrase}")
        return answer

    def _missing_events(self, run: Run, engine: Engine, connection: _ServerConnection) -> list[Event]:
        """Return one event for each endpoint that is switched off while the other one answers."""
        unreported = connection.missing_until_s.keys() - connection.reported_paths
        connection.reported_paths |= unreported
        data = {"collector": self.name}
        return [
            Event(run.id, self._clock.utc(), "collector", _switched_off_text(engine, path), data=data)
            for path in sorted(unreported)
        ]

    def _scrape(self, run: Run, points: list[MetricPoint]) -> Scrape:
        return Scrape(run.id, self._clock.utc(), self._clock.mono_s(), points)


def _is_set_to_sleep(config: Config, engine: Engine) -> bool:
    """Whether the command lets the server sleep when idle."""
    flags = {words[0].partition("=")[0] for text in config.unknown_flags if (words := words_of_flag(text))}
    return any(setting in flags or setting in config.env for setting in engine.sleep_settings)


def _is_silence_expected(state: RunState, has_answered: bool) -> bool:
    """Return whether the server is expected not to answer in this state."""
    if state is RunState.STOPPING or state.is_final:
        return True
    return not has_answered and state in (RunState.QUEUED, RunState.STARTING)


def _points(answer: HttpAnswer, engine: Engine, counters: CounterMap, *, is_lapse: bool) -> list[MetricPoint]:
    """Return the engine's counters. is_lapse: the server exported them before, so it is asked again within seconds."""
    body = answer.content
    if has_prefix(body, counters.METRIC_PREFIXES):
        try:
            return read_points(body, counters.METRIC_NAMES)
        except ValueError as problem:
            raise UnreadableError(f"{engine.metrics_path} cannot be read: {problem}") from None
    if b"# TYPE " not in body:
        raise UnreadableError(f"{engine.metrics_path} returned something other than metrics: {_excerpt(body)}")
    if not is_lapse:
        hint = f"; it may run with {engine.counters_off_flag}" if engine.counters_off_flag else ""
        raise UnavailableError(f"{engine.metrics_path} exports no {engine.title} counters{hint}")
    raise UnreadableError(f"{engine.metrics_path} exported no {engine.title} counters this time")


def _latencies(
    scrape: Scrape,
    answer: HttpAnswer,
    engine: Engine,
    counters: CounterMap,
    connection: _ServerConnection,
    is_last: bool,
) -> list[LatencySample]:
    try:
        return connection.latencies.read(scrape, answer.content, counters, is_last)
    except ValueError as problem:
        raise UnreadableError(f"{engine.metrics_path} cannot be read: {problem}") from None


def _json(answer: HttpAnswer, engine: Engine) -> JsonValue:
    try:
        return answer.json()
    except ValueError:
        raise UnreadableError(
            f"{engine.slots_path} returned something other than JSON: {_excerpt(answer.content)}"
        ) from None


def _excerpt(body: bytes) -> str:
    """Return the first printable words of a body."""
    text = " ".join("".join(c if c.isprintable() else " " for c in body[:200].decode("utf-8", "replace")).split())
    return repr(text[:60]) if text else "nothing"


def _switched_off_text(engine: Engine, path: str) -> str:
    switch = engine.switches.get(path)
    advice = f"; start the server with {switch} to enable it" if switch else ""
    return f"{path} is switched off, so its values are unknown{advice}"
