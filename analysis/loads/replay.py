"""Scenes of several loads for side-by-side replay: shared phases and requests, and their token times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from analysis.evidence.loads import LoadRecord, RequestKey, common_keys, key_of
from load_records import RequestRecord

US_PER_S = 1e6
ChunkTimes = tuple[Sequence[int] | None, Sequence[int] | None]  # RequestRecord's chunk_us and chunk_tokens


class Scene(NamedTuple):
    """A phase of a load, or one of its requests."""

    phase_index: int
    sequence: int | None  # index in the phase; None: the whole phase
    prompt_classes: tuple[str, ...]
    concurrency: int
    requests: int


@dataclass(frozen=True, slots=True)
class TimedAnswer:
    """One answer with its arrival times in seconds."""

    sent_s: float  # since the scene began
    stream: int
    at_s: tuple[float, ...]  # of each chunk, since the scene began
    tokens: tuple[int, ...] | None  # of each chunk; None if the server did not count them
    completion_tokens: int | None


def loads_in_common(by_run: Mapping[str, Sequence[LoadRecord]]) -> dict[str, LoadRecord]:
    """Return for each run its newest load that shares requests with the newest such load of the first run.

    Runs that share none are left out; empty if the first run has no complete request.
    """
    first, *other_ids = by_run
    best: dict[str, LoadRecord] = {}
    for base in reversed(by_run[first]):
        newest_loads = {run_id: _newest_like(base, by_run[run_id]) for run_id in other_ids}
        shared = {run_id: load for run_id, load in newest_loads.items() if load}
        if common_keys([base]) and (not best or len(shared) + 1 > len(best)):
            best = {first: base, **shared}
    return best


def _newest_like(base: LoadRecord, loads: Sequence[LoadRecord]) -> LoadRecord | None:
    return next((load for load in reversed(loads) if common_keys([base, load])), None)


def scenes(loads: Sequence[LoadRecord]) -> list[Scene]:
    """Return the phases that these loads share, in order, each followed by its single requests."""
    by_phase: dict[int, list[RequestKey]] = {}
    for key in sorted(common_keys(loads), key=lambda key: (key.phase_index, key.sequence)):
        by_phase.setdefault(key.phase_index, []).append(key)
    return [scene for keys in by_phase.values() for scene in _scenes_of(keys)]


def _scenes_of(keys: Sequence[RequestKey]) -> list[Scene]:
    classes = tuple(dict.fromkeys(key.prompt_class for key in keys))
    phase_scene = Scene(keys[0].phase_index, None, classes, keys[0].concurrency, len(keys))
    singles = [Scene(key.phase_index, key.sequence, (key.prompt_class,), key.concurrency, 1) for key in keys]
    return singles if len(keys) == 1 else [phase_scene, *singles]


def scene_answers(
    load: LoadRecord, keys: frozenset[RequestKey], scene: Scene, pieces: Mapping[str, ChunkTimes]
) -> list[TimedAnswer]:
    """Return the load's answers of a scene by time, without requests outside of `keys` or without chunk times.

    In a phase scene, requests with unknown sending time are left out too. pieces: chunk times and tokens by request id.
    """
    scene_requests = [request for request in load.measured if key_of(request) in keys and _is_in(request, scene)]
    began_s = min(
        (request.since_phase_s for request in scene_requests if request.since_phase_s is not None), default=0.0
    )
    placed = [request for request in scene_requests if request.since_phase_s is not None or scene.sequence is not None]
    timed_answers = [_answer(request, began_s, pieces.get(request.request_id, (None, None))) for request in placed]
    return sorted((answer for answer in timed_answers if answer), key=lambda answer: answer.sent_s)


def _is_in(request: RequestRecord, scene: Scene) -> bool:
    return request.phase_index == scene.phase_index and scene.sequence in (None, request.sequence)


def _answer(request: RequestRecord, began_s: float, pieces: ChunkTimes) -> TimedAnswer | None:
    chunk_us, chunk_tokens = pieces
    if not chunk_us:
        return None
    sent_s = (began_s if request.since_phase_s is None else request.since_phase_s) - began_s
    at_s = tuple(sent_s + us / US_PER_S for us in accumulate(chunk_us))
    tokens = tuple(chunk_tokens) if chunk_tokens and len(chunk_tokens) == len(at_s) else None
    return TimedAnswer(sent_s, request.stream, at_s, tokens, request.completion_tokens)
