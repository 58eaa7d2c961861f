"""`./pitwall compare` on played runs: its exit statuses, a claim in the wrong direction, and the report's workload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cli.main import main
from tests.known_truth.import_door import PlayedStore
from tests.known_truth.paced_server import PacedServer
from tests.known_truth.played_run import PlayedArm

PLAIN = PacedServer(start_sd=0.002)
SLOWER = replace(PLAIN, step_s=0.02 / 0.73)
SHORT = {"tokens": 32, "repeats": 2, "rungs": [1, 4]}
OTHER = {"tokens": 48, "repeats": 2, "rungs": [1, 4]}
Command = Callable[..., tuple[int, str]]

pytestmark = pytest.mark.publishes


@pytest.fixture
def command(played: PlayedStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    monkeypatch.setenv("PITWALL_DATA", str(played.settings.data_dir))

    def run(*argv: str) -> tuple[int, str]:
        played.store.publish()
        status = main([*argv])
        return status, capsys.readouterr().out

    return run


def play(played: PlayedStore, first: PacedServer, second: PacedServer, starts: int = 3, **load: Any) -> list[str]:
    return played.play([PlayedArm("a", first, **load), PlayedArm("b", second, **load)], starts)


def test_answers_fail_only_where_asked(played: PlayedStore, command: Command) -> None:
    worse = play(played, PLAIN, SLOWER, params=SHORT)
    assert command("compare", *worse)[0] == 0
    assert command("compare", *worse, "--fail-if", "worse")[0] == 4
    assert command("compare", *worse, "--fail-if", "not-comparable", "--fail-if", "unknown")[0] == 0
    assert command("compare", *worse[3:], *worse[:3], "--fail-if", "worse")[0] == 0, "the second is better"


def test_unknown_and_unranked_have_a_status(played: PlayedStore, command: Command) -> None:
    once = play(played, PLAIN, SLOWER, 1, params=SHORT)
    assert command("compare", *once, "--fail-if", "worse", "--fail-if", "unknown")[0] == 3
    unlike = [*play(played, PLAIN, PLAIN, 2, params=SHORT)[:2], *play(played, PLAIN, PLAIN, 2, params=OTHER)[2:]]
    assert command("compare", *unlike, "--fail-if", "unknown", "--fail-if", "not-comparable")[0] == 5
    assert command("compare", *unlike)[0] == 0


def test_claim_in_the_wrong_direction(played: PlayedStore, command: Command) -> None:
    ids = play(played, PLAIN, SLOWER, params=SHORT)
    _, text = command("compare", *ids, "--objective", "decode_tps", "--claim", "2x")
    assert "is the opposite of the measurement: 0.73x" in text and "less than measured" not in text


@pytest.mark.wide
def test_report_of_one_workload(played: PlayedStore, command: Command) -> None:
    first, second = play(played, PLAIN, SLOWER, params=SHORT), play(played, PLAIN, SLOWER, params=OTHER)
    workloads = played.report([*first, *second]).workloads
    for workload, lacking in zip(workloads, (second, first), strict=True):
        _, text = command("report", *first, *second, "--workload", workload.id)
        names = [run.name for run in played.store.runs_of(lacking)]
        assert all(
            name.replace("#", "#<!-- -->") in text.partition("lack the compared workload")[2] for name in names
        ), text
