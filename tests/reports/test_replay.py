"""A replay from stored rows: every token of every shared request, in the time in which the run gave them."""

from __future__ import annotations

from dataclasses import replace as replace_fields
from datetime import timedelta

import numpy as np
import pytest

from analysis.comparison.facts import RunFacts
from reports.runs.replay import replay, replay_scenes
from storage.store import Store
from tests.analysis.comparison.ideal_engine import IdealEngine
from tests.analysis.comparison.stored.test_store_to_answer import SMALL, stored


def test_all_tokens_replay_in_their_original_time(store: Store) -> None:
    rng = np.random.default_rng(3)
    facts = [IdealEngine(0.02, drafts=k).run("ladder", rng, dict(SMALL)) for k in (0, 4)]
    runs = [stored(store, facts, k, 10 * k) for facts, k in zip(facts, (0, 4), strict=True)]
    shown_replay_scenes = replay_scenes(store, runs)
    assert shown_replay_scenes.excluded == () and len(shown_replay_scenes.loads) == 2
    scene = max(
        (scene for scene in shown_replay_scenes.scenes if scene.sequence is None), key=lambda scene: scene.concurrency
    )
    actual_replay = replay(store, shown_replay_scenes, scene)
    for one in facts:
        sent = [r for r in one.loads[0].measured if r.phase_index == scene.phase_index]
        answers = actual_replay[one.run_id]
        assert sum(sum(answer.tokens or ()) for answer in answers) == sum(r.completion_tokens or 0 for r in sent)
        lasted = [answer.at_s[-1] - answer.sent_s for answer in answers]
        by_time = sorted(sent, key=lambda r: r.since_phase_s or 0.0)
        assert lasted == pytest.approx([(r.total_ms or 0.0) / 1000 for r in by_time], abs=0.003)
    single = next(scene for scene in shown_replay_scenes.scenes if scene.sequence == 1)
    assert [len(answers) for answers in replay(store, shown_replay_scenes, single).values()] == [1, 1]


def test_run_of_other_workload_named_and_omitted(store: Store) -> None:
    rng = np.random.default_rng(4)
    ladder = stored(store, IdealEngine(0.02).run("ladder", rng, dict(SMALL)), 0)
    other = stored(store, IdealEngine(0.02).run("five-prompts", rng, {}), 0, 10)
    shown_replay_scenes = replay_scenes(store, [ladder, other])
    assert shown_replay_scenes.excluded == (other,) and list(shown_replay_scenes.loads) == [ladder.id]


def test_page_drawing_limit_is_shared_among_runs(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    facts = [_on_day(day, IdealEngine(0.02).run("ladder", rng, dict(SMALL))) for day in (0, 1)]
    shown_replay_scenes = replay_scenes(store, [stored(store, facts, 0, day) for day, facts in enumerate(facts)])
    scene = max(
        (scene for scene in shown_replay_scenes.scenes if scene.sequence is None), key=lambda scene: scene.requests
    )
    monkeypatch.setattr("reports.runs.replay.MOST_ANSWERS", scene.requests)
    assert [len(answers) for answers in replay(store, shown_replay_scenes, scene).values()] == [scene.requests // 2] * 2


def _on_day(day: int, facts: RunFacts) -> RunFacts:
    """The same start some days later."""
    (load,) = facts.loads
    sent = [replace_fields(request, sent_at=request.sent_at + timedelta(days=day)) for request in load.requests]
    return replace_fields(facts, loads=(replace_fields(load, requests=tuple(sent)),))
