"""Reads a server's endpoints once per tick: /metrics as raw counters, and llama.cpp's /slots."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from collectors.base import Clock, Collector, OutageError, UnavailableError, UnreadableError
from collectors.endpoints.exposition import has_prefix, read_points
from collectors.endpoints.latency_look import LatencyLook
from domain import JsonValue, Run, RunState
from engines import BY_NAME
from engines.base import CounterMap, Engine, MetricPoint, Scrape
from machine.bounded_http import Answer, BadAnswerError, BoundedHttp, NoAnswerError, ReadLimits
from samples import Batch, CounterSample, Event, LatencySample, Sample

# A /metrics of a large vLLM has 1 MB; /slots of older llama.cpp repeats whole prompts.
LIMITS = ReadLimits(body_bytes=16 << 20, total_s=5.0)
SWITCHED_OFF = (404, 501)  # llama.cpp answers 501 without --metrics, SGLang 404 without --enable-metrics
LOOK_AGAIN_S = 60.0
REFUSED = (401, 403)


@dataclass(slots=True)
class _Connection:
    """One run's server; `missing` has the endpoints it does not offer, by when to look again."""

    base_url: str
    http: BoundedHttp
    answered: bool = False
    missing: dict[str, float] = field(default_factory=dict)
    reported: set[str] = field(default_factory=set)
    ranks: set[tuple[str, int]] = field(default_factory=set)  # seen so far: definition and engine index
    latencies: LatencyLook = field(default_factory=LatencyLook)

    def with_missing(self, looked: list[CounterSample]) -> list[CounterSample]:
        """The look, and for each rank that it lacks a sample in which nothing is known: its sum is no sum of all."""
        here = {(sample.definition, sample.engine_index) for sample in looked}
        spoken = {sample.definition for sample in looked}
        missing = sorted(rank for rank in self.ranks - here if rank[0] in spoken)
        self.ranks |= here
        return looked + [CounterSample(looked[0].run_id, looked[0].ts, looked[0].mono_s, *rank) for rank in missing]


class EndpointCollector(Collector):
    """One scrape of /metrics (and /slots) per second and run; nobody else should scrape llama.cpp beside it."""

    name = "endpoint"

    def __init__(
        self,
        clock: Clock | None = None,
        period_s: float = 1.0,
        api_key_of: Callable[[str], str | None] = lambda run_id: None,
    ) -> None:
        """`api_key_of` gives the key of a run's server by the run's id, where Pitwall has it."""
        self.period_s = period_s
        self._api_key_of = api_key_of
        self._clock = clock or Clock()
        self._connections: dict[str, _Connection] = {}

    def collect(self, run: Run, is_last: bool = False) -> Iterable[Batch]:
        """A raw sample per engine and slot. Nothing while the server starts, or when it has been stopped.

        Raises OutageError when it answers no more, UnreadableError for an answer that is no metrics, UnavailableError
        when this server has no counters or has them switched off.
        """
        engine = BY_NAME.get(run.config.engine)
        if engine is None or engine.counters is None or engine.metrics_path is None:
            raise UnavailableError(f"no counters are known for {engine.title if engine else 'this kind of server'}")
        if run.base_url is None:
            return []
        connection = self._connection(run.id, run.base_url)
        try:
            samples = self._look(run, engine, engine.counters, connection, is_last)
        except BadAnswerError as problem:
            raise UnreadableError(str(problem)) from None
        except (NoAnswerError, OutageError) as problem:
            if _may_be_silent(run.state, connection.answered):
                return []
            if isinstance(problem, OutageError):
                raise
            raise OutageError(f"{run.base_url} does not answer: {problem}") from None
        connection.answered = True
        return [Batch(tuple(samples))]

    def finish(self, run: Run) -> Iterable[Batch]:
        """A last look, if somebody still answers."""
        if run.id not in self._connections:
            return []
        try:
            return self.collect(run, is_last=True)
        except (OutageError, UnavailableError, UnreadableError):
            return []

    def forget(self, run_id: str) -> None:
        """Close the connection to this run's server, and forget which endpoints it lacks."""
        connection = self._connections.pop(run_id, None)
        if connection is not None:
            connection.http.close()

    def _connection(self, run_id: str, base_url: str) -> _Connection:
        held = self._connections.get(run_id)
        if held is None or held.base_url != base_url:
            self.forget(run_id)
            key = self._api_key_of(run_id)
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            held = _Connection(base_url, BoundedHttp(base_url.rstrip("/"), headers))
            self._connections[run_id] = held
        return held

    def _look(
        self, run: Run, engine: Engine, counters: CounterMap, connection: _Connection, is_last: bool
    ) -> list[Sample]:
        samples: list[Sample] = []
        points: list[MetricPoint] = []
        metrics = self._get(connection, engine.metrics_path)
        if metrics is not None:
            points = _points(metrics, engine, counters)
            scrape = self._scrape(run, points)
            samples += connection.with_missing(counters.counter_samples(scrape))
            samples += _latencies(scrape, metrics, engine, counters, connection, is_last)
        slots = self._get(connection, engine.slots_path)
        if slots is not None:
            samples += counters.slot_samples(replace(self._scrape(run, points), slots=_json(slots, engine)))
        if metrics is None and slots is None:
            raise UnavailableError("; ".join(_switched_off(engine, path) for path in connection.missing))
        return samples + self._missing_events(run, engine, connection)

    def _get(self, connection: _Connection, path: str | None) -> Answer | None:
        """The answer, or None from an endpoint that is switched off."""
        now = self._clock.mono_s()
        if path is None or connection.missing.get(path, now) > now:
            return None
        answer = connection.http.get(path, LIMITS)
        if answer.status_code in SWITCHED_OFF:
            connection.missing[path] = now + LOOK_AGAIN_S
            return None
        connection.missing.pop(path, None)
        connection.reported.discard(path)
        if answer.status_code in REFUSED:
            has_key = "Authorization" in connection.http.headers
            why = "did not take the API key" if has_key else "asks for an API key, which Pitwall does not have"
            raise UnavailableError(f"{path} {why}")
        if not answer.is_ok:
            raise OutageError(f"{path} answers {answer.status_code} {answer.reason_phrase}")
        return answer

    def _missing_events(self, run: Run, engine: Engine, connection: _Connection) -> list[Event]:
        """One event for each endpoint that is switched off while the other one answers."""
        unreported = connection.missing.keys() - connection.reported
        connection.reported |= unreported
        data = {"collector": self.name}
        return [
            Event(run.id, self._clock.utc(), "collector", _switched_off(engine, path), data=data)
            for path in sorted(unreported)
        ]

    def _scrape(self, run: Run, points: list[MetricPoint]) -> Scrape:
        return Scrape(run.id, self._clock.utc(), self._clock.mono_s(), points)


def _may_be_silent(state: RunState, has_answered: bool) -> bool:
    """Whether no answer is what was to be expected."""
    if state is RunState.STOPPING or state.is_final:
        return True
    return not has_answered and state in (RunState.QUEUED, RunState.STARTING)


def _points(answer: Answer, engine: Engine, counters: CounterMap) -> list[MetricPoint]:
    body = answer.content
    if has_prefix(body, counters.METRIC_PREFIXES):
        try:
            return read_points(body, counters.METRIC_NAMES)
        except ValueError as problem:
            raise UnreadableError(f"{engine.metrics_path} cannot be read: {problem}") from None
    if b"# TYPE " in body:
        hint = f"; it may run with {engine.counters_off_flag}" if engine.counters_off_flag else ""
        raise UnavailableError(f"{engine.metrics_path} exports no {engine.title} counters{hint}")
    raise UnreadableError(f"{engine.metrics_path} answers something that is no metrics: {_excerpt(body)}")


def _latencies(
    scrape: Scrape, answer: Answer, engine: Engine, counters: CounterMap, connection: _Connection, is_last: bool
) -> list[LatencySample]:
    try:
        return connection.latencies.take(scrape, answer.content, counters, is_last)
    except ValueError as problem:
        raise UnreadableError(f"{engine.metrics_path} cannot be read: {problem}") from None


def _json(answer: Answer, engine: Engine) -> JsonValue:
    try:
        return answer.json()
    except ValueError:
        raise UnreadableError(
            f"{engine.slots_path} answers something that is no JSON: {_excerpt(answer.content)}"
        ) from None


def _excerpt(body: bytes) -> str:
    """The first printable words of a body."""
    text = " ".join("".join(c if c.isprintable() else " " for c in body[:200].decode("utf-8", "replace")).split())
    return repr(text[:60]) if text else "nothing"


def _switched_off(engine: Engine, path: str) -> str:
    switch = engine.switches.get(path)
    advice = f"; start the server with {switch} to have them" if switch else ""
    return f"{path} is switched off, so what it counts is not known{advice}"
