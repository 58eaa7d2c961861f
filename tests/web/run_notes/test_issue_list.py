"""The list of known issues: saved ones with their run, published ones with their source, and filters over both."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from notes import Gotcha
from reference.statements import load_failures
from reports.known_issues import IssueOrigin, filter_issues, known_issues
from storage.store import Store
from tests.web.app_page import script_at
from tests.web.conftest import ProvideServices

PAGE = "from web.run_notes.issue_list import show_issues\nshow_issues()"
GOTCHAS = [
    Gotcha(id="g1", engine="vllm", flag="--kv-cache-dtype fp8", failure="Looping", workaround="Use auto", run_id="r1"),
    Gotcha(id="g2", engine="sglang", cause="NCCL error", failure="It hangs", workaround="Set NCCL_P2P_DISABLE=1"),
]


@pytest.mark.parametrize(
    ("words", "origins", "engines", "ids"),
    [
        ([], ["saved"], [], ["g1", "g2"]),
        (["FP8", "looping"], ["saved"], [], ["g1"]),
        (["nccl"], [], [], ["g2"]),
        ([], [], ["sglang"], ["g2"]),
        (["picklingerror"], [], [], ["s001.compile_cache_pickle"]),
        (["nothing has this"], [], [], []),
    ],
)
def test_filters_narrow_the_list(words: Sequence[str], origins: list[str], engines: list[str], ids: list[str]) -> None:
    issues = filter_issues(known_issues(GOTCHAS), words, origins, engines)
    assert [issue.entry.id for issue in issues] == ids


def test_published_issue_has_a_use() -> None:
    published = [issue for issue in known_issues([]) if issue.origin is IssueOrigin.PUBLISHED]
    assert 5 < len(published) < len(load_failures())


def html_text(at: AppTest) -> str:
    return " ".join(str(element.proto.body) for element in at.get("html"))


def test_page_lists_and_keeps_its_filters(
    store: Store, provide_services: ProvideServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    provide_services(SimpleNamespace(store=store))
    monkeypatch.setattr("web.actions.current_role", lambda: "viewer")
    for gotcha in GOTCHAS:
        store.gotchas.save(gotcha, "operator")
    script = script_at(PAGE)
    assert [one.value.partition(":")[0] for one in script.subheader] == ["Saved here", "Published by others"]
    assert "run?run=r1" in html_text(script) and "Published in" in html_text(script)
    filtered = script_at(PAGE, find="hangs", origin="saved")
    assert "It hangs" in html_text(filtered) and "Looping" not in html_text(filtered)
    assert [one.value for one in filtered.subheader] == ["Saved here: 1"]
