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
from storage.ask.machine_queries import MachineRow, machines
from storage.store import Store
from web.fleet import home_of
from web.live.elsewhere.peer_look import RefusedByPeerError, Standing, state_of
from web.live.elsewhere.peers import Peer, PeerBook
from web.live.elsewhere.relay import Elsewhere
from web.machines.peer_panel import _fill_in, proposed, remove

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
PANEL = """
from web.context import services
from web.machines.peer_panel import peer_panel

peer_panel(services().fleet)
"""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """In the place of the lake too: another machine has told what it is."""
    settings = Settings(data_dir=tmp_path / "data")
    opened, lake = Store.open(settings), Store.open(Settings(data_dir=tmp_path / "lake"))
    lake.save_machine(machine()).result()
    elsewhere = Elsewhere(PeerBook(settings.peers_path))
    provided = SimpleNamespace(store=opened, settings=settings, elsewhere=elsewhere, fleet=lake)
    monkeypatch.setattr("web.context._provided", [provided])
    be(monkeypatch, "operator")
    yield opened
    opened.close()
    lake.close()


def machine(**changes: object) -> Machine:
    given = {
        "id": "m2", "host_name": "box-2", "addresses": ["10.0.0.2"], "system": None, "cpu": None, "cores": None,
        "memory_bytes": None, "gpus": [], "gpus_reason": "no_driver", "driver_version": None, "cuda_version": None,
        "seen_at": NOW,
    }  # fmt: skip
    return Machine(**(given | changes))  # type: ignore[arg-type]


def be(monkeypatch: pytest.MonkeyPatch, role: str | None) -> None:
    for room in ("web.actions", "web.access.roles"):
        monkeypatch.setattr(f"{room}.current_role", lambda: role)


def panel() -> AppTest:
    at = AppTest.from_string(PANEL, default_timeout=60).run()
    assert not at.exception, at.exception
    return at


def typed(at: AppTest, name: str, url: str, token: str) -> AppTest:
    for key, value in (("peer-name", name), ("peer-url", url), ("peer-token", token)):
        at.text_input(key=key).input(value)
    next(button for button in at.button if button.label == "Confirm it").click()
    at.run()
    assert not at.exception, at.exception
    return at


def shown(at: AppTest) -> str:
    return " ".join(str(one.proto.body) for one in at.get("html"))


def plain(markdown: str) -> str:
    return markdown.replace("\\", "")


def book(store: Store) -> PeerBook:
    from web.context import services

    return services().elsewhere.peers


def audited(store: Store) -> list[tuple[str, str]]:
    store.record([]).result()  # what was queued before it is stored
    return [(entry.action, entry.detail) for entry in store.audit(10)]


def peer(name: str = "box-2", url: str = "https://box-2") -> Peer:
    return Peer(name=name, url=url, token="x" * 20, confirmed_by="a test", confirmed_at=NOW)


def test_the_operator_confirms_and_removes_one_and_both_are_written_down(store: Store) -> None:
    at = typed(panel(), "box-2", "https://box-2.example/", "a-token-of-theirs")
    assert [(one.name, one.url, one.token) for one in book(store).all()] == [
        ("box-2", "https://box-2.example", "a-token-of-theirs")
    ]
    assert at.text_input(key="peer-token").value == "", "the token stays in no field"
    assert "https://box-2.example" in shown(at) and "it was not asked yet" in shown(at)
    assert "a-token-of-theirs" not in shown(at)
    at.button(key="remove-peer-box-2").click().run()
    assert book(store).all() == []
    assert audited(store) == [
        ("remove peer", "box-2 at https://box-2.example"),
        ("confirm peer", "box-2 at https://box-2.example/"),
    ]


@pytest.mark.parametrize(
    ("name", "url", "token", "sentence"),
    [
        ("box", "http://box.example", "t" * 20, "in clear: use https, or a tunnel"),
        ("box", "ftp://box.example", "t" * 20, "no address of a Pitwall"),
        ("a box", "https://box.example", "t" * 20, "1 to 40 letters"),
        ("box", "https://box.example", "", "token is missing"),
    ],
)
def test_what_cannot_be_watched_is_refused_in_a_sentence(
    store: Store, name: str, url: str, token: str, sentence: str
) -> None:
    at = typed(panel(), name, url, token)
    assert [sentence in plain(one.value) for one in at.error] == [True]
    assert book(store).all() == [] and audited(store) == []


def test_others_of_the_team_see_and_change_nothing_and_guests_see_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    book(store).confirm(peer())
    for role in ("viewer", "editor"):
        be(monkeypatch, role)
        at = panel()
        assert "https://box-2" in shown(at)
        assert not at.button and not at.text_input and "Proposed" not in str(at.markdown)
        with pytest.raises(PermissionError):
            remove("box-2")
    be(monkeypatch, None)
    assert not panel().expander
    assert book(store).all()


@pytest.mark.parametrize(
    ("took_s", "trouble", "standing"),
    [
        (0.2, None, Standing.CONNECTED),
        (1.5, None, Standing.SLOW),
        (2.0, OSError("no route to it"), Standing.ABSENT),
        (0.1, RefusedByPeerError("it answers 401"), Standing.REFUSED),
    ],
)
def test_how_it_stands_is_told_with_the_reason(
    store: Store, took_s: float, trouble: Exception | None, standing: Standing
) -> None:
    book(store).confirm(peer())
    from web.context import services

    services().elsewhere._states["box-2"] = state_of(NOW, took_s, trouble)
    words = f"{standing}: {trouble}" if trouble else standing
    assert f">{words}<" in shown(panel())


def test_what_the_lake_tells_is_a_proposal_that_fills_in_and_asks_nobody(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = panel()
    assert any("Proposed by the lake: box-2 (box-2, 10.0.0.2)" in plain(one.value) for one in at.markdown)
    at.button(key="propose-m2").click().run()
    assert (at.text_input(key="peer-name").value, at.text_input(key="peer-url").value) == ("box-2", "https://box-2")
    assert book(store).all() == [], "nobody gave a token"
    next(button for button in at.button if button.label == "Confirm it").click().run()
    assert book(store).all() == [] and "token is missing" in at.error[0].value


def test_no_proposal_is_this_machine_or_one_that_is_watched(store: Store, tmp_path: Path) -> None:
    from web.context import services

    lake: Store = services().fleet  # type: ignore[assignment]
    lake.save_machine(machine(id="own", host_name="here")).result()
    known: list[MachineRow] = machines(lake)
    assert {row.machine_id for row in proposed(known, [], "own")} == {"m2"}
    for url in ("https://BOX-2:8443/pitwall", "https://10.0.0.2"):
        assert proposed(known, [peer(url=url)], "own") == []


def row(**fields: object) -> MachineRow:
    known: dict[str, object] = {
        "machine_id": "m2",
        "label": None,
        "host_name": "box-2",
        "addresses": [],
        "seen_at": NOW,
    }
    blank: dict[str, object] = dict.fromkeys(MachineRow.__dataclass_fields__)
    return MachineRow(**{**blank, "gpus": [], "runs": 0, **known, **fields})  # type: ignore[arg-type]


def test_the_address_that_a_machine_told_is_filled_in_and_one_that_is_a_peer_is_not_proposed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    form: dict[str, str] = {}
    monkeypatch.setattr("web.machines.peer_panel.st.session_state", form)
    _fill_in(row(url="https://gpu.example/pitwall"))
    assert form["peer-url"] == "https://gpu.example/pitwall"
    _fill_in(row())
    assert form["peer-url"] == "https://box-2"
    known = [row(url="https://gpu.example/pitwall")]
    assert proposed(known, [], "own") == known
    assert proposed(known, [peer(url="https://gpu.example/pitwall")], "own") == []


def test_a_run_of_another_machine_links_to_its_own_pitwall_where_that_is_certain() -> None:
    run = Run(id="r 1", name="n", color=0, config=Config(), machine_id="m2", created_at=NOW)
    urls = {"m2": "https://gpu.example/pitwall"}
    assert home_of(run, urls) == "https://gpu.example/pitwall/run?run=r%201"
    assert home_of(run, {}) is None
    assert home_of(run, {"m2": "javascript:alert(1)"}) is None
    for changes in ({"kind": "attached"}, {"kind": "imported"}, {"provenance": {"on_host": "gpu-box"}}):
        assert home_of(run.model_copy(update=changes), urls) is None
