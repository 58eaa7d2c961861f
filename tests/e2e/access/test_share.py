"""A link given to a teammate: opens without a token, shows exactly its runs, live, and lets nobody do more."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Event, Thread

import httpx
import psutil
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from domain import Config, Run, RunState
from machine.identity import machine_id
from machine.process_start import process_start_s
from settings import Settings
from storage.store import Store
from tests.demo_engine import DemoServer
from tests.e2e.page_at_rest import current, expect_whole, press, visit
from tests.e2e.pitwall_process import Pitwall, wait_until
from tests.e2e.streamlit_client import ByHand, buttons, by_hand, pages
from tests.ports import free_ports

ROOT = Path(__file__).resolve().parents[3]
pytestmark = [pytest.mark.browser, pytest.mark.pages, pytest.mark.engine]
POINTS = "[...document.querySelectorAll('.js-plotly-plot')].flatMap(p => p.data).reduce((n, d) => n + d.x.length, 0)"
LIVE, HIDDEN = "20261120-120000-000-live", "20261120-110000-000-hide"


def seed(data: Path, server: DemoServer) -> None:
    """A run of a real server that is watched, and one that ended and is nobody's business."""
    process = psutil.Process(server.process.pid)
    shared = {"color": 0, "kind": "attached", "machine_id": machine_id()}
    store = Store.open(Settings(data_dir=data))
    live = Run(
        id=LIVE,
        name="Seen by Ana",
        state=RunState.READY,
        config=Config(engine="llamacpp", launcher="attach"),
        created_at=datetime.now(UTC),
        started_at=datetime.now(UTC),
        ready_at=datetime.now(UTC),
        base_url=server.base_url,
        log_path=str(server.log),
        pid=process.pid,
        pid_birth_s=process_start_s(process.pid),
        **shared,  # type: ignore[arg-type]
    )
    store.save_run(live)
    hidden = {"id": HIDDEN, "name": "Nobody else's business", "state": RunState.FINISHED, "base_url": None, "pid": None}
    store.save_run(live.model_copy(update={**hidden, "ended_at": datetime.now(UTC)}))
    store.close()


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory, demo_server: DemoServer) -> Iterator[Pitwall]:
    """Up, with the two runs, while the live one's server generates."""
    pitwall = Pitwall(tmp_path_factory.mktemp("pitwall") / "data", free_ports(1)[0])
    seed(pitwall.data, demo_server)
    pitwall.start()
    enough = Event()
    busy = Thread(target=_generate_until, args=(demo_server.base_url, enough))
    busy.start()
    yield pitwall
    enough.set()
    busy.join()
    pitwall.end_everything()


def _generate_until(base_url: str, enough: Event) -> None:
    """Now and then three long answers at once, for two looks at the slots to see one go on, on a fast machine too."""
    body = {"prompt": "once", "max_tokens": 3500, "ignore_eos": True}
    with ThreadPoolExecutor(3) as clients:
        while not enough.wait(10.0):
            post = partial(httpx.post, f"{base_url}/v1/completions", json=body, timeout=120)
            for answer in [clients.submit(post) for _ in range(3)]:
                answer.result().raise_for_status()


@pytest.fixture(scope="module")
def link(kept_page: Page, pitwall: Pitwall) -> str:
    """What the Share dialog on the Live page gives for the one run."""
    page = kept_page
    page.goto(f"{pitwall.url}/live?run={LIVE}")
    press(page.get_by_role("button", name="Share", exact=True))
    expect(page.get_by_text("Pitwall listens on this machine only")).to_have_count(0)
    current(page.get_by_label("For whom")).fill("Ana <b>")
    press(page.get_by_role("button", name="Make a link"))
    code = page.get_by_role("dialog").locator("code", has_text="/share/").first
    expect(code).to_be_visible()
    expect(page.get_by_text("Pitwall listens on this machine only")).to_be_visible()
    link = code.inner_text().strip()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    press(page.get_by_role("button", name="Copy link").first)
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == link
    page.goto("about:blank")
    return link


@pytest.fixture(scope="module")
def other_profile(browser: Browser) -> Iterator[BrowserContext]:
    """Another browser profile, which keeps Streamlit's scripts between the tests."""
    context = browser.new_context()
    context.set_default_timeout(60_000)
    yield context
    context.close()


@pytest.fixture
def viewer(other_profile: BrowserContext, link: str) -> Iterator[BrowserContext]:
    """That of somebody who has the link and neither a token nor a cookie."""
    other_profile.clear_cookies()
    yield other_profile
    for page in other_profile.pages:
        page.close()


def cookie_of(context: BrowserContext) -> str:
    return "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in context.cookies())


def arrive(context: BrowserContext, link: str) -> Page:
    page = context.new_page()
    page.goto(link)
    expect(page.get_by_text("Seen by Ana").first).to_be_visible()
    return page


def cookie_of_link(context: BrowserContext, link: str) -> str:
    """What a browser that opens the link has from then on; for those who do not look at the page."""
    assert context.request.get(link).ok
    return cookie_of(context)


def test_shared_link_is_live_in_another_browser(viewer: BrowserContext, link: str, pitwall: Pitwall) -> None:
    page = arrive(viewer, link)
    assert page.url == f"{pitwall.url}/live?run={LIVE}"
    page.wait_for_selector(".js-plotly-plot .main-svg")
    count = (
        "() => Math.max(...[...document.querySelectorAll('.js-plotly-plot')].flatMap(p => p.data.map(d => d.x.length)))"
    )
    before = page.evaluate(count)
    page.wait_for_function(f"n => ({count})() > n + 1", arg=before)


def test_link_shows_its_run_before_streamlit(viewer: BrowserContext, link: str, pitwall: Pitwall) -> None:
    # An answer that has ended has no speed now, and its log line does not count beside the slots.
    of_slots = "activity IS NOT NULL AND decode_tps > 0 AND source <> 'log'"
    speeds = f"SELECT count(*) FROM run_samples WHERE run_id = '{LIVE}' AND {of_slots}"
    wait_until(lambda: pitwall.sql(speeds) > [(0,)], 60)
    page = viewer.new_page()
    page.route("**/static/js/*", lambda route: None)  # they never come
    page.goto(link, wait_until="commit")
    look = page.get_by_role("region", name="The runs at a glance")
    expect(look.get_by_text("Seen by Ana")).to_be_visible()
    expect(look.get_by_text("tok/s")).to_be_visible()
    page.unroute_all()
    page.goto(link)
    expect(page.locator(".lv-speed")).to_be_visible()
    expect(look).to_have_count(0)


def test_viewer_finds_no_other_run_or_controls(viewer: BrowserContext, link: str, pitwall: Pitwall) -> None:
    page = arrive(viewer, link)
    hers, not_hers = "Seen by Ana", "No run has the id"
    loaded = {"/": hers, "/live": hers, "/compare": "Pick two or more runs", "/run": hers, f"/run?run={LIVE}": hers}
    in_place = {f"/{name}?run={HIDDEN}": not_hers for name in ("live", "compare", "replay", "run")}
    for path, value in (loaded | in_place).items():
        first_look = viewer.request.get(pitwall.url + path)
        assert first_look.ok and "Nobody else's business" not in first_look.text()
        (page.goto if path in loaded else partial(visit, page))(pitwall.url + path)
        expect_whole(current(page.get_by_text(value)))
        assert "Nobody else's business" not in page.content()
        for name in ("Share", "Stop watching Seen by Ana", "Launch", "Run the demo"):
            assert page.get_by_role("button", name=name, exact=True).count() == 0, (path, name)
    assert page.get_by_role("link", name="Launch").count() == 0
    for path in ("/launch", "/runs", "/sql", "/explore", "/api/sql", "/share/"):
        answer = viewer.request.get(pitwall.url + path)
        assert answer.status == (410 if path == "/share/" else 403), path
    assert viewer.request.post(f"{pitwall.url}/live").status == 403


def test_the_push_gives_a_viewer_no_other_run(viewer: BrowserContext, link: str, pitwall: Pitwall) -> None:
    url = f"{pitwall.url.replace('http', 'ws')}/ws/live?run="
    headers = {"cookie": cookie_of_link(viewer, link)}
    with connect(url + LIVE, additional_headers=headers) as socket:
        socket.send("{}")
        assert '"hello"' in str(socket.recv(timeout=20))
    for runs in (HIDDEN, f"{LIVE}&run={HIDDEN}"):
        with (
            pytest.raises(ConnectionClosed, match="does not give access to all"),
            connect(url + runs, additional_headers=headers) as socket,
        ):
            socket.recv(timeout=20)


def operator_at_live(pitwall: Pitwall, session: ByHand) -> tuple[dict[str, str], dict[str, str]]:
    """The operator's pages and the Live page's buttons, as the protocol shows them."""
    actual_pages = pages(session.rerun())
    return actual_pages, buttons(session.rerun(query=f"run={LIVE}", page_hash=actual_pages["live"]))


def test_viewer_forging_the_protocol_is_refused(viewer: BrowserContext, link: str, pitwall: Pitwall) -> None:
    hers = cookie_of_link(viewer, link)
    token = httpx.get(pitwall.url, params={"token": pitwall.token}).cookies
    operator = "; ".join(f"{name}={value}" for name, value in token.items())
    with by_hand(pitwall.url, operator) as session:
        known, pressed = operator_at_live(pitwall, session)
    stop = pressed["Stop watching Seen by Ana"]
    with by_hand(pitwall.url, hers) as session:
        assert set(pages(session.rerun())) == {"", "live", "compare", "replay", "run"}
        assert str(ROOT).encode() not in b"".join(one.SerializeToString() for one in session.rerun())
        for name, page_hash in known.items():
            for query in ("", f"run={HIDDEN}", f"run={LIVE}&run={HIDDEN}"):
                text = b"".join(one.SerializeToString() for one in session.rerun(query, name, page_hash))
                assert b"Nobody else" not in text, (name, query)
                assert b"Run the demo" not in text and b"Paste a command" not in text, (name, query)
        session.rerun(f"run={LIVE}", "live", known["live"], click=stop)
        session.rerun(f"run={LIVE}", "live", known["live"])
    assert pitwall.states()["Seen by Ana"] == "ready"
    # The link's first opening is recorded; a viewer does nothing else that could be.
    beyond = "SELECT action FROM audit WHERE role <> 'operator' AND action <> 'open link' OR action = 'stop'"
    assert pitwall.sql(beyond) == []


def test_a_revoked_link_closes_what_is_open(
    kept_page: Page, viewer: BrowserContext, link: str, pitwall: Pitwall
) -> None:
    page = arrive(viewer, link)
    url = f"{pitwall.url.replace('http', 'ws')}/ws/live?run={LIVE}"
    headers = {"cookie": cookie_of(viewer)}
    operator = kept_page
    with connect(url, additional_headers=headers) as push, by_hand(pitwall.url, headers["cookie"]) as session:
        push.send("{}")
        push.recv(timeout=20)
        session.rerun()
        operator.goto(pitwall.url)
        press(operator.get_by_text("Links and changes"))
        expect(operator.get_by_text("Ana <b>").first).to_be_visible()
        press(current(operator.get_by_role("button", name="Revoke")).first)
        expect(operator.get_by_role("button", name="Revoke")).to_have_count(0)
        with pytest.raises(ConnectionClosed, match="no longer valid"):
            while True:
                push.recv(timeout=20)
        with pytest.raises(ConnectionClosed, match="no longer valid"):
            session.rerun()
    expect(
        page.get_by_role("heading", name="This link is no longer valid")
    ).to_be_visible()  # nobody has touched that page
    with pytest.raises(InvalidStatus), connect(url, additional_headers=headers):
        pass
    assert page.goto(f"{pitwall.url}/live?run={LIVE}").status == 401  # type: ignore[union-attr]
    expect(page.get_by_text("This link was revoked")).to_be_visible()
    assert page.goto(link).status == 410  # type: ignore[union-attr]
    wait_until(lambda: len(pitwall.sql("FROM audit")) == 3, 60)
    assert pitwall.sql("SELECT action, role, run_id FROM audit ORDER BY ts") == [
        ("share", "operator", LIVE),
        ("open link", "guest", None),
        ("revoke", "operator", LIVE),
    ]


def test_by_hand_the_operator_can_stop(pitwall: Pitwall) -> None:
    """What the viewer tried above does work in the right hands, or that test could not fail."""
    token = httpx.get(pitwall.url, params={"token": pitwall.token}).cookies
    with by_hand(pitwall.url, "; ".join(f"{name}={value}" for name, value in token.items())) as session:
        known, pressed = operator_at_live(pitwall, session)
        stop = pressed["Stop watching Seen by Ana"]
        session.rerun(f"run={LIVE}", "live", known["live"], click=stop)
    wait_until(lambda: pitwall.states()["Seen by Ana"] == "finished", 60)
    wait_until(lambda: pitwall.sql("SELECT run_id FROM audit WHERE action = 'stop'") == [(LIVE,)], 60)
