"""Replay of the answers that several runs gave to the same requests, token by token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.evidence.loads import LoadRecord, common_keys
from analysis.loads.replay import Scene, TimedAnswer, loads_in_common, scene_answers, scenes
from domain import Run
from storage.queries import load_queries
from storage.queries.run_data import Queryable

MOST_ANSWERS = 2000  # of all runs together, drawn on one page


@dataclass(frozen=True, slots=True)
class ReplayScenes:
    """Scenes that can be replayed, and the runs left out."""

    loads: Mapping[str, LoadRecord]  # by run id, in the requested order
    scenes: tuple[Scene, ...]
    excluded: tuple[Run, ...]  # share no request with the first, or have none


def replay_scenes(store: Queryable, runs: Sequence[Run]) -> ReplayScenes:
    """Return the scenes that these runs share."""
    by_run = load_queries.loads(store, [run.id for run in runs], with_pieces=False)
    loads = loads_in_common(by_run)
    unlike = tuple(run for run in runs if run.id not in loads)
    return ReplayScenes(loads, tuple(scenes(list(loads.values()))), unlike)


def replay(store: Queryable, scenes: ReplayScenes, scene: Scene) -> dict[str, list[TimedAnswer]]:
    """Return run id -> answers of a scene; empty if the times of the pieces were not stored.

    There are fewer answers than requests if some were not stored, or if there are more than a page draws.
    """
    load_ids = {run_id: load.load_id for run_id, load in scenes.loads.items()}
    most = MOST_ANSWERS // len(load_ids)
    pieces = load_queries.answer_pieces(store, load_ids, scene.phase_index, scene.sequence, most)
    keys = common_keys(list(scenes.loads.values()))
    return {run_id: scene_answers(load, keys, scene, pieces[run_id]) for run_id, load in scenes.loads.items()}
