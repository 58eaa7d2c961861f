"""Agent sessions from the store: a real server that was restarted, and what misses cost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from analysis.sessions.causes import CauseKind
from collectors.endpoints.counter_reader import counter_reader
from demo.model import ModelFiles
from domain import Config, Run, RunState
from load_records import RequestRecord
from reasons import Code
from reports.runs.agent_sessions import agent_sessions
from reports.runs.prices import Prices
from samples import Batch, CounterSample, GpuSample, SlotSample
from storage.store import Store
from tests.analysis.sessions.recorded_chats import BEGUN, HandMadeRecording, chat
from tests.demo_engine import running_demo
from tests.ports import free_ports
from tests.workloads.recording.agent_requests import Agent
from tests.workloads.recording.recorders import post, recorder_of
from web.runs.page.agent_session_words import cost_text
from web.runs.page.agent_sessions import sessions_html

PRICES = Prices("EUR", per_hour=3.6, per_kwh=0.36)


def stored_run(store: Store, samples: tuple[Any, ...], **config: Any) -> Run:
    run = Run(id="r", name="agent", color=0, config=Config(**config), machine_id="m", created_at=BEGUN,
              started_at=BEGUN, ready_at=BEGUN, state=RunState.FINISHED)  # fmt: skip
    store.save_run(run)
    store.write(Batch(samples)).result(30)
    return run


def changed_system() -> HandMadeRecording:
    recording = HandMadeRecording()
    recording.add(chat("a", "b", "c", tools=("bash",)), 1000, 0)
    recording.add(chat("a", "b", "c", "d", system="2" + "s" * 400, tools=("bash",)), 1200, 0, ttft_ms=2000.0)
    return recording


def watts(power_w: float) -> list[GpuSample]:
    return [
        GpuSample("r", BEGUN + timedelta(seconds=n), float(n), "m", 0, power_w=power_w) for n in range(-5, 30)
    ]  # fmt: skip


@pytest.mark.wide
@pytest.mark.engine
def test_restart_of_a_real_server_is_named(store: Store, tiny_model: ModelFiles, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    argv = ["-m", str(tiny_model.target), "-np", "1", "-c", "4096"]
    agent, counters = Agent(1), list[CounterSample]()
    bodies = agent.turns(2)
    read = counter_reader("r", "llamacpp", f"http://127.0.0.1:{port}", None)

    async def run() -> list[RequestRecord]:
        async with recorder_of(f"http://127.0.0.1:{port}", tmp_path) as recording:
            for number, body in enumerate([*bodies, agent.body()]):
                if number in (0, 2):
                    server = running_demo(argv, port, tmp_path / f"server-{number}.log")
                    await asyncio.to_thread(server.__enter__)
                counters.extend(await asyncio.to_thread(read))
                assert (await post(recording, body))[0] == 200
                counters.extend(await asyncio.to_thread(read))
                if number in (1, 2):
                    await asyncio.to_thread(server.__exit__, None, None, None)
        return recording.rows

    rows = asyncio.run(run())
    assert len(counters) == 6
    sessions = agent_sessions(store, stored_run(store, (*rows, *counters)))
    (total,) = sessions.totals
    assert total.cause and total.cause.kind is CauseKind.RESTARTED
    assert total.misses[0].turn.request_id == rows[2].request_id
    assert "the server was restarted" in sessions_html(sessions)


def test_cost_is_tokens_over_prefill_speed_times_power_and_prices(store: Store) -> None:
    run = stored_run(store, (*changed_system().rows, *watts(360.0)))
    sessions = agent_sessions(store, run, PRICES)
    (total,) = sessions.totals
    cost = sessions.cost_of(total)
    assert cost.tokens == 1000 and cost.seconds.value == pytest.approx(1000 / 600)
    assert cost.joules.value == pytest.approx(360 * 1000 / 600, rel=0.01)
    assert cost.money.value == pytest.approx(1000 / 600 * (3.6 / 3600 + 360 * 0.36 / 3.6e6), rel=0.01)
    assert cost_text(sessions, total).startswith("In 1 turn: 1,000 tokens again, 1.7 s, 600 J, 0.00")


def test_unknown_costs_have_reasons_and_are_not_shown(store: Store) -> None:
    sessions = agent_sessions(store, stored_run(store, tuple(changed_system().rows)))
    cost = sessions.cost_of(sessions.totals[0])
    assert cost.joules.reason and cost.joules.reason.code == Code.NO_ENERGY
    assert cost.money.value is None and cost.money.reason and cost.money.reason.code == Code.INPUTS_UNKNOWN
    assert cost_text(sessions, sessions.totals[0]) == "In 1 turn: 1,000 tokens again, 1.7 s."


def test_section_names_the_part_and_lists_every_turn(store: Store) -> None:
    html = sessions_html(agent_sessions(store, stored_run(store, tuple(changed_system().rows))))
    assert "System block 1 of 1 changed in its first 256 bytes (a date?)." in html
    assert "1.1.1" in html and "1.1.2" in html and "1,000 (1.7 s)" in html


def test_run_without_recorded_prompts_has_no_sessions(store: Store) -> None:
    assert agent_sessions(store, stored_run(store, ())).turns == ()


def test_server_without_cached_counts_is_told_not_judged(store: Store) -> None:
    recording = HandMadeRecording()
    recording.add(chat("a"), 100, None)
    recording.add(chat("a", "b", "c"), 300, None)
    sessions = agent_sessions(store, stored_run(store, tuple(recording.rows)))
    html = sessions_html(sessions)
    assert sessions.totals == () and "reported no cached tokens for 2 of 2 turns" in html
    assert "No turn computed its prefix again" not in html


@pytest.mark.parametrize(
    ("samples", "config", "kind"),
    [
        (lambda: [_counters(0, 0.5, 0.0), _counters(12, 0.97, 3.0)], {}, CauseKind.EVICTED),
        (lambda: [SlotSample("r", BEGUN, 0.0, 0, 1, True, 1, 1, 4096, 1.0)], {}, CauseKind.SLOT_TAKEN),
        (list, {"prefix_caching": False}, CauseKind.CACHING_OFF),
        (list, {}, None),
    ],
)
def test_evidence_comes_from_the_store(
    store: Store, samples: Callable[[], list[Any]], config: dict[str, Any], kind: CauseKind | None
) -> None:
    recording = HandMadeRecording()
    recording.add(chat("a", "b", "c"), 1000, 0)
    recording.add(chat("another"), 300, 0)
    recording.add(chat("a", "b", "c", "d"), 1200, 0)
    sessions = agent_sessions(store, stored_run(store, (*recording.rows, *samples()), **config))
    (total,) = sessions.totals
    assert (total.cause.kind if total.cause else None) == kind


def _counters(at_s: float, kv_usage: float, preemptions: float) -> CounterSample:
    return CounterSample("r", BEGUN + timedelta(seconds=at_s), at_s, "vllm.counter", prompt_tokens_total=10 * at_s,
                         preemptions_total=preemptions, kv_usage_ratio=kv_usage)  # fmt: skip


def test_view_turns_says_what_the_section_says(store: Store) -> None:
    recording = HandMadeRecording()
    recording.add(chat("a"), 100, 0)
    recording.add(chat("a", "b", "c"), 300, 90)
    recording.add(chat("a", "b", "c", "d"), 400, None)
    turns = agent_sessions(store, stored_run(store, tuple(recording.rows))).turns
    rows = store.query("FROM turns ORDER BY sequence").to_pylist()
    names = ("session", "request_id", "prompt_tokens", "cached_tokens", "computed_tokens", "pause_s", "context_tokens")
    for row, turn in zip(rows, turns, strict=True):
        assert [row[name] for name in names] == pytest.approx([getattr(turn, name) for name in names])
        assert row["follows"] == (turn.follows.request_id if turn.follows else None)
    assert [row["recomputed_tokens"] for row in rows] == [None, 10, None]
    assert [row["cached_reason"] for row in rows] == [None, None, "no_cached_count"]
    parts = store.query("SELECT kind, name, bytes, first_request_id FROM prompt_parts ORDER BY ALL").to_pylist()
    assert len(parts) == 6 and {"kind": "system", "name": None, "bytes": 400, "first_request_id": "load-0000"} in parts
