"""Proposals of agents on the page: who sees them, who may decide, and what a decision leaves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from collectors.imports.inbox import inbox_folder
from domain import utc_now
from service.proposals import LoadProposal, Proposal, ProposalBook
from settings import Settings
from storage.store import Store
from tests.cli.mcp_server.test_mcp_tools import STUDY
from tests.web.conftest import ProvideServices
from tests.web.live.peers.test_peer_panel import be
from web.proposal_panel import accept_proposal, reject_proposal

PANEL = """
from web.proposal_panel import show_proposals

show_proposals()
"""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices) -> Iterator[Settings]:
    settings = Settings(data_dir=tmp_path / "data")
    store = Store.open(settings)
    inbox_folder(settings.data_dir).mkdir(parents=True, exist_ok=True)
    provide_services(SimpleNamespace(store=store, settings=settings, supervisor=SimpleNamespace(start_load=refusing)))
    be(monkeypatch, "operator")
    yield settings
    store.close()


def refusing(run_id: str, spec: object, secrets: object) -> None:
    """A fake supervisor without a live run."""
    from launcher.checks.launch_request import LaunchRefusedError

    raise LaunchRefusedError(f"The run {run_id} is over.")


def book(settings: Settings) -> ProposalBook:
    return ProposalBook(settings.proposals_path)


def panel() -> AppTest:
    at = AppTest.from_string(PANEL, default_timeout=60).run()
    assert not at.exception, at.exception
    return at


def test_operator_accepts_one_study_and_rejects_another(settings: Settings) -> None:
    first, second = (book(settings).propose_study(STUDY, why, "an agent") for why in ("*faster*?", "no"))
    at = panel()
    assert [code.value.strip() for code in at.code] == [STUDY.strip()] * 2, "all that it would run"
    assert "\\*faster\\*" in at.caption[0].value, "an agent's words are no markup"
    at.button(key=f"reject-proposal-{second.id}").click().run()
    assert [proposal.id for proposal in book(settings).all()] == [first.id]
    at.button(key=f"accept-proposal-{first.id}").click().run()
    assert not at.exception and book(settings).all() == []
    assert len(list(inbox_folder(settings.data_dir).glob("*.study.json"))) == 1
    assert panel().subheader == []


def test_load_that_cannot_start_stays_a_proposal(settings: Settings) -> None:
    load = LoadProposal(run_id="gone", workload="five-prompts")
    made = book(settings)._add(Proposal(id="12ab", proposed_by="an agent", proposed_at=utc_now(), why="", load=load))
    at = panel()
    at.button(key=f"accept-proposal-{made.id}").click().run()
    assert any("The run gone is over" in toast.value.replace("\\", "") for toast in at.toast)
    assert [proposal.id for proposal in book(settings).all()] == ["12ab"]


@pytest.mark.parametrize("role", ["editor", "viewer", None])
def test_others_neither_see_nor_decide(settings: Settings, monkeypatch: pytest.MonkeyPatch, role: str | None) -> None:
    proposal = book(settings).propose_study(STUDY, "", "an agent")
    be(monkeypatch, role)
    at = panel()
    assert not at.subheader and not at.button and not at.code
    for act in (accept_proposal, reject_proposal):
        with pytest.raises(PermissionError):
            act(proposal.id)
    assert [open_proposal.id for open_proposal in book(settings).all()] == [proposal.id]
