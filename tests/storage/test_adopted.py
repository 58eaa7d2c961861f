"""Adopted points in the store: added and never changed, published, and the view tells which took whose place."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from domain import AdoptedPoint, AuditEntry, Config, Run, WorkloadSpec
from reports.arms.adopted_points import active_points, describe_point, mask_line, points_about
from settings import Settings
from storage.published_query import published_query
from storage.store import Store

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
CONFIG = Config(engine="vllm", model="org/model", argv=("vllm", "serve", "org/model"), env={"HF_TOKEN": "<secret>"})


def point(number: int, **fields: object) -> AdoptedPoint:
    actual_fields: dict[str, object] = {
        "id": f"p{number}",
        "name": f"arm {number}",
        "purpose": "coding agents",
        "reason": "fastest <b>at</b> eight",
        "config": CONFIG,
        "workload": WorkloadSpec(name="ladder"),
        "run_ids": ("r1", "r2"),
        "adopted_by": "Ada",
        "role": "operator",
        "adopted_at": NOW + timedelta(days=number),
    }
    return AdoptedPoint.model_validate(actual_fields | fields)


def test_point_survives_restart_and_is_audited(settings: Settings) -> None:
    first, second = point(1), point(2, supersedes="p1", purpose=None, workload=None)
    store = Store.open(settings)
    for one in (first, second):
        store.adopt(one, [AuditEntry(one.adopted_at, "operator", "adopt", "r1", one.id)])
    store.close()
    again = Store.open(settings)
    assert again.adopted() == [second, first]
    assert [entry.detail for entry in again.audit(5)] == ["p2", "p1"]
    again.close()


def test_record_with_same_id_replaces_nothing(store: Store) -> None:
    store.adopt(point(1), [])
    store.adopt(point(1, reason="another"), [])
    assert sorted(one.reason for one in store.adopted()) == ["another", "fastest <b>at</b> eight"]


def test_view_shows_successor_and_is_published(settings: Settings, store: Store) -> None:
    for one in (point(1), point(2, supersedes="p1"), point(3, supersedes="p1"), point(4)):
        store.adopt(one, [])
    store.publish()
    with published_query(settings.published_path) as query:
        rows = query("FROM adopted_points ORDER BY adopted_id", None).to_pylist()
    assert [(row["adopted_id"], row["superseded_by"]) for row in rows] == [
        ("p1", "p2"),
        ("p2", None),
        ("p3", None),
        ("p4", None),
    ]
    assert (rows[0]["engine"], rows[0]["model"], rows[0]["run_ids"]) == ("vllm", "org/model", ["r1", "r2"])
    assert rows[0]["superseded_at"] == NOW + timedelta(days=2)


def test_what_stands_and_what_is_about_some_runs() -> None:
    points = [point(2, supersedes="p1"), point(1)]
    assert [active_point.id for active_point in active_points(points)] == ["p2"]
    run = Run(id="r2", name="x", color=0, config=Config(), machine_id="m", created_at=NOW)
    other = run.model_copy(update={"id": "r9"})
    assert points_about(points, [run]) == points and points_about(points, [other]) == []
    assert points_about(points, [other.model_copy(update={"config": CONFIG})]) == points, "the same configuration"
    assert "Superseded by arm 2 on 24 Nov 2026." in describe_point(points[1], points)
    assert describe_point(points[0], points).startswith(
        "Adopted for coding agents: arm 2, by Ada on 24 Nov 2026, based"
    )


@pytest.mark.parametrize(
    ("text", "kept"), [("  a\n b ", "a b"), ("api_key=abcdefgh1234 is it", "api_key=<secret> is it")]
)
def test_personal_text_is_kept_without_secrets(text: str, kept: str) -> None:
    assert mask_line(text) == kept
