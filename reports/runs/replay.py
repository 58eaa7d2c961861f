"""A replay: the answers that several runs gave to the same requests, as they came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.evidence.loads import LoadRecord, common_keys
from analysis.loads.replay import Answer, Scene, answers, loads_in_common, scenes
from domain import Run
from storage.ask import load_queries
from storage.ask.queries import Asked

MOST_ANSWERS = 2000  # of all runs together: what one page draws


@dataclass(frozen=True, slots=True)
class Replayable:
    """What may be watched, and which runs are left out of it."""

    loads: Mapping[str, LoadRecord]  # by run, in the order asked for
    scenes: tuple[Scene, ...]
    unlike: tuple[Run, ...]  # share no request with the first, or have none


def replayable(store: Asked, runs: Sequence[Run]) -> Replayable:
    """The scenes that these runs share."""
    by_run = load_queries.loads(store, [run.id for run in runs], with_pieces=False)
    loads = loads_in_common(by_run)
    unlike = tuple(run for run in runs if run.id not in loads)
    return Replayable(loads, tuple(scenes(list(loads.values()))), unlike)


def replay(store: Asked, shown: Replayable, scene: Scene) -> dict[str, list[Answer]]:
    """The answers of a scene by run; empty where the times of the pieces were not kept.

    They are fewer than the scene has requests where some were not kept, or more are asked for than a page draws.
    """
    load_ids = {run_id: load.load_id for run_id, load in shown.loads.items()}
    most = MOST_ANSWERS // len(load_ids)
    pieces = load_queries.answer_pieces(store, load_ids, scene.phase_index, scene.sequence, most)
    keys = common_keys(list(shown.loads.values()))
    return {run_id: answers(load, keys, scene, pieces[run_id]) for run_id, load in shown.loads.items()}
