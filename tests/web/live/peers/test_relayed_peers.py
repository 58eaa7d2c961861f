"""Other Pitwalls that are watched: which of their runs, and how much of them waits."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from collectors.agents.link import AddressError
from tests.web.live.peers.test_relay import NOW, OTHERS, Box
from tests.web.live.peers.test_relay import boxes as boxes
from tests.web.live.peers.test_relay import mine as mine
from tests.web.live.peers.test_relay import quick as quick
from tests.web.live.peers.test_relay import serving_peer as serving_peer
from web.live.hub import WAITING_BYTES, _Viewer
from web.live.peers.foreign_frames import checked_frame
from web.live.peers.peer_look import MOST_RUNS, PeerRun
from web.live.peers.peers import Peer, PeerBook, PeerError

ROOT = Path(__file__).resolve().parents[4]


def test_unknown_series_of_a_peer_are_left_out() -> None:
    series = '"series": {"constructor": {"t": [1], "v": [1]}, "decode_tps": {"t": [1, 2.5], "v": [null, 3]}}'
    document = json.loads(checked_frame(f'{OTHERS}"marks": [], "more": 1, {series}}}'))
    assert document == {
        "type": "snapshot", "run": "r-other", "server_t": 1, "seq": 1, "cursor": "", "marks": [],
        "series": {"decode_tps": {"t": [1, 2.5], "v": [None, 3]}},
    }  # fmt: skip


def peer_named(name: str) -> Peer:
    return Peer(name=name, url=f"https://{name}", token="x" * 20, confirmed_by="a test", confirmed_at=NOW)


def run_of(run_id: str, peer: str) -> PeerRun:
    return PeerRun(id=run_id, name="n", state="running", peer=peer)


def test_run_stays_with_its_first_peer(mine: Box) -> None:
    """Another peer that claims it later would be given its watchers."""
    for name in ("first", "second"):
        mine.elsewhere._note(peer_named(name), [run_of("r", name)])
    assert mine.elsewhere.last_seen("r").peer == "first" and len(mine.elsewhere.runs()) == 1
    mine.elsewhere._note(peer_named("first"), [])  # it has ended there
    mine.elsewhere._note(peer_named("second"), [run_of("r", "second")])
    assert mine.elsewhere.last_seen("r").peer == "first" and not mine.elsewhere.runs()
    mine.elsewhere._forget(peer_named("first"))
    mine.elsewhere._note(peer_named("second"), [run_of("r", "second")])
    assert mine.elsewhere.last_seen("r").peer == "second"


def test_endless_new_runs_do_not_displace_live(mine: Box) -> None:
    first, second = peer_named("first"), peer_named("second")
    mine.elsewhere._note(first, [run_of("r", "first")])
    for turn in range(15):
        many = [run_of(f"x{turn}-{n}", "second") for n in range(MOST_RUNS)]
        mine.elsewhere._note(second, many)
        mine.elsewhere._note(first, [run_of("r", "first")])
        mine.elsewhere._note(second, many)
        assert mine.elsewhere.knows("r")


def test_confirmed_peers_file_is_private(tmp_path: Path) -> None:
    book = PeerBook(tmp_path / "peers.json")
    peer = Peer(name="a", url="https://a.example/", token="x" * 20, confirmed_by="me", confirmed_at=NOW)
    book.confirm(peer)
    assert book.all() == [peer.model_copy(update={"url": "https://a.example"})]
    assert (tmp_path / "peers.json").stat().st_mode & 0o777 == 0o600 and "x" * 20 not in repr(peer)
    for url in ("http://a.example", "https://n:p@a.example", "ftp://a.example"):
        with pytest.raises(AddressError):
            book.confirm(peer.model_copy(update={"url": url}))
    book.forget("a")
    with pytest.raises(PeerError, match="No watched Pitwall is named a"):
        book.forget("a")
    (tmp_path / "peers.json").write_text("[")
    assert book.all() == [], "a file that is none names nobody"


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (("https://[::1",), 1, "not the address of a Pitwall"),
        (("https://host:word",), 1, "not the address of a Pitwall"),
        (("https://a", "--ca", "none.pem"), 2, "No such file"),
        (("https://a", "--ca", "words.pem"), 1, "contains no certificates"),
    ],
)
def test_what_cannot_be_watched_is_not_confirmed(
    tmp_path: Path, words: tuple[str, ...], status: int, sentence: str
) -> None:
    (tmp_path / "words.pem").write_text("words")
    environ = os.environ | {"PITWALL_DATA": str(tmp_path), "PITWALL_PEER_TOKEN": "x" * 20}
    argv = [str(ROOT / "pitwall"), "peer", "add", "a", *words]
    process = subprocess.run(argv, cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert process.returncode == status and sentence in process.stderr and "Traceback" not in process.stderr, (
        process.stderr
    )
    assert not (tmp_path / "peers.json").exists()


def test_slow_browser_queue_is_bounded_in_bytes() -> None:
    viewer = _Viewer()
    for _ in range(20):
        viewer.offer("x" * (4 << 20))
    assert viewer.overrun and sum(map(len, viewer.outbox)) <= WAITING_BYTES + (4 << 20)
