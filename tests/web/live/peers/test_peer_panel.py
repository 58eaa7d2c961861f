"""Other Pitwalls on the page: who sees them, who may confirm and remove them, and what is never asked."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from domain import Config, Machine, Run
from settings import Settings
from storage.queries.machine_queries import MachineRow, machines
from storage.store import Store
from tests.web.app_page import script_at
from tests.web.conftest import ProvideServices
from web.fleet import home_url
from web.live.peers.peer_look import PeerStatus, RefusedByPeerError, peer_state
from web.live.peers.peers import Peer, PeerBook
from web.live.peers.relay import PeerRelay
from web.machines.peer_panel import _fill_in, proposed_machines, remove_peer

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
PANEL = """
from web.context import services
from web.machines.peer_panel import peer_section
from web.sections import show_sections

show_sections("runs", [peer_section(services().fleet)])
"""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices) -> Iterator[Store]:
    """In the place of the lake too: another machine has told what it is."""
    settings = Settings(data_dir=tmp_path / "data")
    opened, lake = Store.open(settings), Store.open(Settings(data_dir=tmp_path / "lake"))
    lake.save_machine(machine()).result()
    elsewhere = PeerRelay(PeerBook(settings.peers_path))
    provided = SimpleNamespace(store=opened, settings=settings, peer_relay=elsewhere, fleet=lake)
    provide_services(provided)
    be(monkeypatch, "operator")
    yield opened
    opened.close()
    lake.close()


def machine(**changes: object) -> Machine:
    fields = {
        "id": "m2", "host_name": "box-2", "addresses": ["10.0.0.2"], "system": None, "cpu": None, "cores": None,
        "memory_bytes": None, "gpus": [], "gpus_reason": "no_driver", "driver_version": None, "cuda_version": None,
        "seen_at": NOW,
    }  # fmt: skip
    return Machine(**(fields | changes))  # type: ignore[arg-type]


def be(monkeypatch: pytest.MonkeyPatch, role: str | None) -> None:
    for room in ("web.actions", "web.access.roles"):
        monkeypatch.setattr(f"{room}.current_role", lambda: role)


def panel() -> AppTest:
    return script_at(PANEL, fold="peers")


def typed(at: AppTest, name: str, url: str, token: str) -> AppTest:
    for key, value in (("peer-name", name), ("peer-url", url), ("peer-token", token)):
        at.text_input(key=key).input(value)
    next(button for button in at.button if button.label == "Confirm").click()
    at.run()
    assert not at.exception, at.exception
    return at


def html_text(at: AppTest) -> str:
    return " ".join(str(element.proto.body) for element in at.get("html"))


def plain(markdown: str) -> str:
    return markdown.replace("\\", "")


def book(store: Store) -> PeerBook:
    from web.context import services

    return services().peer_relay.peers


def audited(store: Store) -> list[tuple[str, str]]:
    store.record([]).result()  # what was queued before it is stored
    return [(entry.action, entry.detail) for entry in store.audit(10)]


def peer(name: str = "box-2", url: str = "https://box-2") -> Peer:
    return Peer(name=name, url=url, token="x" * 20, confirmed_by="a test", confirmed_at=NOW)


def test_operator_confirms_and_removes_with_audit(store: Store) -> None:
    at = typed(panel(), "box-2", "https://box-2.example/", "a-token-of-theirs")
    assert [(element.name, element.url, element.token) for element in book(store).all()] == [
        ("box-2", "https://box-2.example", "a-token-of-theirs")
    ]
    assert at.text_input(key="peer-token").value == "", "the token stays in no field"
    assert "https://box-2.example" in html_text(at) and "not contacted yet" in html_text(at)
    assert "a-token-of-theirs" not in html_text(at)
    at.button(key="remove-peer-box-2").click().run()
    assert book(store).all() == []
    assert audited(store) == [
        ("remove peer", "box-2 at https://box-2.example"),
        ("confirm peer", "box-2 at https://box-2.example/"),
    ]


@pytest.mark.parametrize(
    ("name", "url", "token", "sentence"),
    [
        ("box", "http://box.example", "t" * 20, "unencrypted: use https, or a tunnel"),
        ("box", "ftp://box.example", "t" * 20, "not the address of a Pitwall"),
        ("a box", "https://box.example", "t" * 20, "1 to 40 letters"),
        ("box", "https://box.example", "", "token is missing"),
    ],
)
def test_unwatchable_peer_refused_in_a_sentence(store: Store, name: str, url: str, token: str, sentence: str) -> None:
    at = typed(panel(), name, url, token)
    assert [sentence in plain(error.value) for error in at.error] == [True]
    assert book(store).all() == [] and audited(store) == []


def test_team_sees_read_only_guests_see_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    book(store).confirm(peer())
    for role in ("viewer", "editor"):
        be(monkeypatch, role)
        at = panel()
        assert "https://box-2" in html_text(at)
        assert not at.button and not at.text_input and "Proposed" not in str(at.markdown)
        with pytest.raises(PermissionError):
            remove_peer("box-2")
    be(monkeypatch, None)
    assert not panel().button_group
    assert book(store).all()


@pytest.mark.parametrize(
    ("took_s", "trouble", "standing"),
    [
        (0.2, None, PeerStatus.CONNECTED),
        (1.5, None, PeerStatus.SLOW),
        (2.0, OSError("no route to it"), PeerStatus.ABSENT),
        (0.1, RefusedByPeerError("it responded with status 401"), PeerStatus.REFUSED),
    ],
)
def test_how_it_stands_is_told_with_the_reason(
    store: Store, took_s: float, trouble: Exception | None, standing: PeerStatus
) -> None:
    book(store).confirm(peer())
    from web.context import services

    services().peer_relay._states["box-2"] = peer_state(NOW, took_s, trouble)
    words = f"{standing}: {trouble}" if trouble else standing
    assert f">{words}<" in html_text(panel())


def test_lake_proposal_fills_in_without_contact(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    at = panel()
    assert any("Proposed by the lake: box-2 (box-2, 10.0.0.2)" in plain(markdown.value) for markdown in at.markdown)
    at.button(key="propose-m2").click().run()
    assert (at.text_input(key="peer-name").value, at.text_input(key="peer-url").value) == ("box-2", "https://box-2")
    assert book(store).all() == [], "nobody gave a token"
    next(button for button in at.button if button.label == "Confirm").click().run()
    assert book(store).all() == [] and "token is missing" in at.error[0].value


def test_own_and_watched_machines_not_proposed(store: Store, tmp_path: Path) -> None:
    from web.context import services

    lake: Store = services().fleet  # type: ignore[assignment]
    lake.save_machine(machine(id="own", host_name="here")).result()
    machine_rows: list[MachineRow] = machines(lake)
    assert {row.machine_id for row in proposed_machines(machine_rows, [], "own")} == {"m2"}
    for url in ("https://BOX-2:8443/pitwall", "https://10.0.0.2"):
        assert proposed_machines(machine_rows, [peer(url=url)], "own") == []


def row(**fields: object) -> MachineRow:
    known_fields: dict[str, object] = {
        "machine_id": "m2",
        "label": None,
        "host_name": "box-2",
        "addresses": [],
        "seen_at": NOW,
    }
    blank: dict[str, object] = dict.fromkeys(MachineRow.__dataclass_fields__)
    return MachineRow(**{**blank, "gpus": [], "runs": 0, **known_fields, **fields})  # type: ignore[arg-type]


def test_announced_address_prefilled_unless_peer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    form: dict[str, str] = {}
    monkeypatch.setattr("web.machines.peer_panel.st.session_state", form)
    _fill_in(row(url="https://gpu.example/pitwall"))
    assert form["peer-url"] == "https://gpu.example/pitwall"
    _fill_in(row())
    assert form["peer-url"] == "https://box-2"
    rows = [row(url="https://gpu.example/pitwall")]
    assert proposed_machines(rows, [], "own") == rows
    assert proposed_machines(rows, [peer(url="https://gpu.example/pitwall")], "own") == []


def test_remote_run_links_to_its_certain_pitwall() -> None:
    run = Run(id="r 1", name="n", color=0, config=Config(), machine_id="m2", created_at=NOW)
    urls = {"m2": "https://gpu.example/pitwall"}
    assert home_url(run, urls) == "https://gpu.example/pitwall/run?run=r%201"
    assert home_url(run, {}) is None
    assert home_url(run, {"m2": "javascript:alert(1)"}) is None
    for changes in ({"kind": "attached"}, {"kind": "imported"}, {"provenance": {"on_host": "gpu-box"}}):
        assert home_url(run.model_copy(update=changes), urls) is None
