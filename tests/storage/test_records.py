"""Shares and the audit in the store: kept over a restart, replaced by id, and only the audit is published."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain import AuditEntry, Share, Study
from settings import Settings
from storage.published_query import published_query
from storage.store import Store

NOW = datetime(2026, 11, 20, 12, 0, 0, 5, tzinfo=UTC)


def share(share_id: str, made_at: datetime = NOW) -> Share:
    return Share(
        id=share_id,
        run_ids=("r2", "r1"),
        page="compare",
        created_at=made_at,
        created_by="operator",
        expires_at=made_at + timedelta(days=7),
        note="for <b>Ana</b>",
    )


def test_shares_survive_restart_and_revocation(settings: Settings) -> None:
    first, second = share("s1"), share("s2", NOW + timedelta(seconds=1))
    revoked = first.model_copy(update={"revoked_at": NOW + timedelta(days=1)})
    store = Store.open(settings)
    for one in (first, second, revoked):
        store.save_share(one)
    store.close()
    again = Store.open(settings)
    assert again.shares() == [second, revoked]
    again.close()


def test_audit_is_published_and_shares_are_not(settings: Settings, store: Store) -> None:
    store.save_share(share("s1"))
    store.record(
        [AuditEntry(NOW, "operator", "stop", "r1"), AuditEntry(NOW, "operator", "share", None, "it's for \x00 me")]
    ).result()
    store.publish()
    with published_query(settings.published_path) as query:
        rows = query("SELECT action, run_id, detail FROM audit ORDER BY action").to_pylist()
        shares = query("SELECT count(*) AS n FROM raw.shares").to_pylist()
    assert rows == [
        {"action": "share", "run_id": None, "detail": "it's for \x00 me"},
        {"action": "stop", "run_id": "r1", "detail": ""},
    ]
    assert shares == [{"n": 0}]


def test_share_is_open_until_end_or_revocation() -> None:
    one = share("s1")
    assert one.is_open(NOW) and not one.is_open(one.expires_at)
    assert not one.model_copy(update={"revoked_at": NOW}).is_open(NOW)


@pytest.mark.parametrize(("plan", "answer"), [({}, None), ({}, {}), ({"arms": []}, {"answer": "same"})])
def test_a_study_is_kept_also_with_an_empty_plan(store: Store, plan: dict[str, Any], answer: dict[str, Any]) -> None:
    study = Study(id="s", title="t", question="which", created_at=NOW, updated_at=NOW, plan=plan, answer=answer)
    store.save_study(study)
    assert store.studies() == [study]
