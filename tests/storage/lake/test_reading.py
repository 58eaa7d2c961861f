"""A run says the same from the lake as on its own box; who may only read changes nothing; no secret is told."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest

from cli.main import main
from domain import Run
from engines import all_definitions
from reports.arms.comparison import comparison_of
from reports.arms.facts import facts_of
from reports.runs.run_report import report_on
from service.fleet import Fleet
from service.this_machine import this_machine
from storage.lake.config import S3, LakeConfig, LakeError, read_config
from storage.lake.connection import opened_lake
from storage.lake.lake_reader import opened_reader
from storage.lake.layout import make_lake, required_columns
from storage.queries.machine_queries import machines
from storage.queries.run_queries import RunFilter, find_runs, run_choices
from storage.user_sql.schema import CONTRACT
from tests.analysis.comparison.ideal_engine import IdealEngine, repeats
from tests.analysis.comparison.stored.test_store_to_answer import SMALL, stored
from tests.storage.lake.boxes import NOW, Box
from tests.storage.lake.servers import KEYS, Postgres

pytestmark = pytest.mark.lake

Boxes = Callable[[str], Box]


@pytest.fixture
def measured(boxes: Boxes) -> tuple[Box, list[Run]]:
    """A box that has shipped two arms of three starts."""
    box = boxes("measured")
    box.store.set_definitions(all_definitions())
    rng = np.random.default_rng(21)
    plain, drafting = IdealEngine(0.02, start_sd=0.005), IdealEngine(0.022, drafts=4, start_sd=0.005)
    sides = [(repeats(plain, "ladder", 3, rng, **SMALL), 0, 0), (repeats(drafting, "ladder", 3, rng, **SMALL), 4, 10)]
    for facts, drafts, offset in sides:
        for number, one in enumerate(facts):
            stored(box.store, one, drafts, offset + number, run_dir="/runs/x")
    box.seal()
    assert box.ship().parts
    return box, sorted(box.store.runs(), key=lambda run: run.started_at or NOW)


@pytest.fixture
def fleet(boxes: Boxes, measured: tuple[Box, list[Run]]) -> Iterator[Fleet]:
    """Another box's view of all."""
    other_boxes = boxes("other")
    other_boxes.store.set_definitions(all_definitions())
    with closing(Fleet(other_boxes.settings, other_boxes.store)) as opened:
        yield opened


def test_report_and_verdict_come_from_own_box(measured: tuple[Box, list[Run]], fleet: Fleet) -> None:
    box, runs = measured
    ids = [run.id for run in runs]
    away = fleet.runs_of(ids)
    copies = fleet.queryable_for(ids, with_earlier=True)
    assert [run.id for run in away] == ids
    for report, there in zip(report_on(box.store, runs), report_on(copies, away), strict=True):
        assert report.windows == there.windows
        assert (report.summary, report.acceptance, report.requests) == (there.summary, there.acceptance, there.requests)
    assert facts_of(box.store, runs) == facts_of(copies, away)
    comparison, of_lake = comparison_of(box.store, runs), comparison_of(copies, away)
    assert comparison.answers, "there is a verdict to compare"
    assert comparison == of_lake


def test_local_and_remote_runs_are_compared(measured: tuple[Box, list[Run]], boxes: Boxes) -> None:
    _, runs = measured
    here = boxes("here")
    mine = here.add_run("zz-mine")
    with closing(Fleet(here.settings, here.store)) as fleet:
        ids = [runs[0].id, mine.id]
        copies = fleet.queryable_for(ids)
        assert [run.id for run in fleet.runs_of(ids)] == ids
        reports = report_on(copies, fleet.runs_of(ids))
        assert reports[1].windows == report_on(here.store, [mine])[0].windows
        assert fleet.queryable_for([mine.id]) is here.store


def test_lake_views_have_the_same_rows(measured: tuple[Box, list[Run]], config: LakeConfig) -> None:
    box, _ = measured
    with opened_reader(config, box.store.query("FROM raw.metric_definitions")) as lake:
        for view in CONTRACT:
            hidden = "EXCLUDE (log_path)" if view == "runs" else ""
            sql = f"SELECT * {hidden} FROM {view} ORDER BY ALL"
            assert lake.query(sql).to_pylist() == box.store.query(sql).to_pylist(), view


def test_lists_are_of_all_machines_or_of_one(boxes: Boxes, config: LakeConfig) -> None:
    one, two = boxes("one"), boxes("two")
    one.add_runs("a", 2)
    two.add_runs("b", 1)
    two.store.save_machine(replace(this_machine(), url="https://two.example")).result()
    two.store.label_machine("machine-of-two", "the second box")
    two.store.publish()
    for box in (one, two):
        box.ship()
    with closing(Fleet(one.settings, one.store)) as fleet:
        assert run_choices(fleet).machines == ("machine-of-one", "machine-of-two")
        assert [run.id for run in find_runs(fleet, RunFilter(), 10)] == ["b000", "a001", "a000"]
        assert [run.id for run in find_runs(fleet, RunFilter(machines=("machine-of-two",)), 10)] == ["b000"]
        titles = {row.machine_id: row.title() for row in machines(fleet)}
        assert "https://two.example" in [row.url for row in machines(fleet)]
    assert titles["machine-of-two"] == "the second box"


def test_machine_facts_beat_later_launchers(boxes: Boxes, config: LakeConfig) -> None:
    one, two = boxes("one"), boxes("two")
    itself = replace(this_machine(), id="m-two", reported_by="m-two", url="https://two.example", cpu="its CPU")
    two.store.save_machine(itself).result()
    one.store.save_machine(replace(itself, reported_by="m-one", url=None, cpu="another CPU")).result()
    for box in (two, one):
        box.seal()
        box.ship()
    with closing(Fleet(one.settings, one.store)) as fleet:
        assert [(row.url, row.cpu) for row in machines(fleet)] == [("https://two.example", "its CPU")]
    with opened_reader(config, one.store.query("FROM raw.metric_definitions")) as lake:
        assert lake.query("SELECT url, cpu FROM machines").to_pylist() == [
            {"url": "https://two.example", "cpu": "its CPU"}
        ]


def test_remote_attachment_belongs_to_pitwall_box(boxes: Boxes) -> None:
    one, two = boxes("one"), boxes("two")
    machine = this_machine()
    one.store.save_machine(machine).result()
    run = two.add_run("b")
    update = {"kind": "attached", "machine_id": f"remote-{machine.host_name.upper()}", "run_dir": None}
    two.store.save_run(run.model_copy(update=update))
    for box in (one, two):
        box.seal()
        box.ship()
    with closing(Fleet(one.settings, one.store)) as fleet:
        assert [run.machine_id for run in fleet.runs_of(["b"])] == [machine.id]


@pytest.fixture
def reader(config: LakeConfig, postgres: Postgres, measured: tuple[Box, list[Run]]) -> LakeConfig:
    """The same lake with a role and a key that may only read."""
    box, _ = measured
    name = config.data_path.rstrip("/").rpartition("/")[2]
    postgres.run(f"CREATE ROLE reader_{name} LOGIN PASSWORD 'read-only'")
    with opened_lake(config) as connection:
        make_lake(connection, required_columns(box.store.query), f"reader_{name}")
    assert config.s3
    key_id, secret = KEYS["ro"]
    files = S3(endpoint=config.s3.endpoint, key_id=key_id, secret=secret, use_ssl=False)
    return LakeConfig(catalogue=postgres.dsn(name, f"reader_{name}", "read-only"), data_path=config.data_path, s3=files)


def test_read_only_user_reads_all_writes_nothing(reader: LakeConfig) -> None:
    with opened_lake(reader) as connection:  # attached as a writer would: the servers refuse it, not our own option
        counted = connection.execute("SELECT count(*) FROM lake.requests").fetchone()
        assert counted and counted[0] > 0
        for statement in (
            "INSERT INTO lake.requests SELECT * FROM lake.requests LIMIT 1",
            "DELETE FROM lake.requests WHERE run_id = (SELECT min(run_id) FROM lake.requests)",
            "CREATE TABLE lake.more (a INTEGER)",
            "DROP TABLE lake.requests",
            "CALL postgres_execute('locks', 'DELETE FROM pitwall_parts')",
            f"COPY (SELECT 1 AS a) TO '{reader.data_path}x.parquet'",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(statement)
        assert connection.execute("SELECT count(*) FROM lake.requests").fetchone() == counted


def test_no_secret_is_told(
    measured: tuple[Box, list[Run]],
    config: LakeConfig,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    box, _ = measured
    monkeypatch.setenv("PITWALL_DATA", str(box.settings.data_dir))
    for words in (["lake", "status"], ["lake", "status", "--json"], ["lake", "check"], ["lake", "ship"]):
        assert main(words) == 0
    output = capsys.readouterr()
    assert "ATTACH 'ducklake:postgres:" in output.out
    assert config.s3
    secrets = [config.s3.secret, config.s3.key_id, config.catalogue.partition("password=")[2]]
    wrong = config.model_copy(update={"catalogue": config.catalogue.replace("port=", "port=1")})
    with pytest.raises(LakeError) as refusal, opened_lake(wrong):
        pass
    environment = json.dumps(dict(os.environ))
    for secret in secrets:
        assert all(secret not in text for text in (output.out, output.err, str(refusal.value), environment))


def test_readable_lake_toml_is_refused(measured: tuple[Box, list[Run]]) -> None:
    box, _ = measured
    box.settings.lake_path.chmod(0o644)
    with pytest.raises(LakeError, match="chmod 600"):
        read_config(box.settings)
    box.settings.lake_path.chmod(0o600)
    box.settings.lake_path.write_text('catalogue = "x password=hidden-word"\nnot_known = "hidden-word"\n')
    with pytest.raises(LakeError) as refusal:
        read_config(box.settings)
    assert "hidden-word" not in str(refusal.value)


def test_attach_statement_works_in_any_duckdb(reader: LakeConfig, tmp_path: Path) -> None:
    from storage.lake.status import attach_statements

    text = attach_statements(reader).partition("\n")[2]  # the first line installs what is loaded here
    assert reader.s3
    role = reader.catalogue.partition("user=")[2].partition(" ")[0]
    for placeholder, value in (
        ("<reader key>", reader.s3.key_id), ("<reader secret>", reader.s3.secret),
        ("<reader>", role), ("<password>", "read-only"),
    ):  # fmt: skip
        text = text.replace(placeholder, value)
    with opened_lake(reader, read_only=True) as connection:
        connection.execute("DETACH lake; DROP SECRET lake_files")
        connection.execute(text)
        assert connection.execute("SELECT count(*) > 0 FROM lake.run_versions").fetchone() == (True,)
