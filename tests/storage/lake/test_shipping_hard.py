"""Shipping to the lake under kills, outages, two shippers and a compaction: nothing is lost or doubled."""

from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from service.lake_shipping import LakeShipping
from storage.lake.config import LakeConfig, LakeError
from storage.lake.connection import advisory_lock, opened_lake
from storage.lake.owner import owner_id
from storage.lake.upkeep import compact
from tests.storage.lake.boxes import Box, assert_no_orphan, assert_whole
from tests.storage.lake.servers import Postgres, S3Server
from tests.storage.lake.test_shipping import Boxes

pytestmark = pytest.mark.lake
KILLS = int(os.environ.get("PITWALL_LAKE_KILLS", "200"))
ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.timeout(3600)
def test_kill_during_commit_leaves_no_halves(boxes: Boxes, config: LakeConfig) -> None:
    """A process that ships run after run is ended with SIGKILL at a moment drawn from the time of two commits."""
    box = boxes("one")
    chance, made, killed = random.Random(1), 0, 0
    while killed < KILLS:
        box.add_runs(f"k{made:04}-", 10, seconds=3)
        made += 1
        killed += _ship_and_kill(box, chance)
    box.ship()
    assert_whole(config, box)
    compact(config, kept_days=0)
    assert_whole(config, box)
    assert_no_orphan(config)


def _ship_and_kill(box: Box, chance: random.Random) -> int:
    """1 where the process still shipped when it was killed."""
    words = [sys.executable, "-m", "tests.storage.lake.ship_one_by_one"]
    env = os.environ | {"PITWALL_DATA": str(box.settings.data_dir)}
    with subprocess.Popen(words, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline() == "shipping\n"
        try:
            process.wait(chance.uniform(0.0, 3.0))
        except subprocess.TimeoutExpired:
            process.kill()
            return 1
    return 0


def test_servers_that_stop_hard_and_come_back(
    boxes: Boxes, config: LakeConfig, postgres: Postgres, s3: S3Server
) -> None:
    box = boxes("one")
    shipping = LakeShipping(box.settings, box.store)
    box.add_runs("a", 3)
    shipping.tick()
    assert (shipping.state.failure, shipping.state.shipped_parts) == (None, 12)
    for number, server in enumerate((postgres, s3)):
        server.stop_hard()
        try:
            box.add_runs(f"b{number}", 3)  # what is local goes on
            shipping.tick()
            assert shipping.state.failure
            assert all(secret not in shipping.state.failure for secret in secrets_of(config))
            assert lake_is_behind(box, shipping)
        finally:
            server.start()
        tick_until_well(shipping)
        assert shipping.state.waiting_parts == 0
    assert_whole(config, box)


def lake_is_behind(box: Box, shipping: LakeShipping) -> bool:
    return shipping.state.shipped_parts < len(box.rows())


def tick_until_well(shipping: LakeShipping) -> None:
    """A server that has just started may refuse once or twice."""
    for _ in range(20):
        shipping.tick()
        if shipping.state.failure is None:
            return
    raise AssertionError(shipping.state.failure)


def secrets_of(config: LakeConfig) -> list[str]:
    assert config.s3
    return [config.s3.secret, config.catalogue.partition("password=")[2]]


def test_two_shippers_of_one_id_take_turns(boxes: Boxes, config: LakeConfig) -> None:
    box = boxes("one")
    box.add_runs("a", 5)
    with opened_lake(config) as connection, advisory_lock(connection, f"owner {owner_id(box.settings)}") as was_had:
        assert was_had
        assert not box.ship().is_held
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_ship_published, args=(str(box.settings.data_dir),)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    box.ship()
    assert_whole(config, box)


def _ship_published(data_dir: str) -> None:
    os.environ["PITWALL_DATA"] = data_dir
    from cli.main import main

    assert main(["lake", "ship"]) == 0


def test_second_commit_of_a_part_is_refused(boxes: Boxes, config: LakeConfig) -> None:
    """One that was taken for dead commits behind the one that took over: it looked up before that one committed."""
    box = boxes("one")
    box.add_runs("a", 2)
    late = box.shipper()
    looked_up = late._look_up

    def commit_between(*given: object) -> None:
        looked_up(*given)  # type: ignore[arg-type]
        with opened_lake(config) as other_opened_lake:
            box.shipper()._commit(other_opened_lake, late._read_ledger(other_opened_lake))

    late._look_up = commit_between  # type: ignore[method-assign]
    with opened_lake(config) as connection, pytest.raises(LakeError, match="pitwall_parts"):
        late.ship(connection)
    assert_whole(config, box)


def test_compaction_beside_writers_loses_nothing(boxes: Boxes, config: LakeConfig) -> None:
    many = [boxes(f"box{number}") for number in range(4)]
    for box in many:
        for lap in range(3):
            box.add_runs(f"{box.name}-{lap}-", 2)
            box.ship()
        box.add_runs(f"{box.name}-last-", 2)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_ship_published, args=(str(box.settings.data_dir),)) for box in many]
    for process in writers:
        process.start()
    done = compact(config, kept_days=0)
    for process in writers:
        process.join()
    assert done.files_after < done.files_before
    for box in many:
        box.ship()
    assert_whole(config, *many)
