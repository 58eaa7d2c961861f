"""The Live component in a real Chromium, behind the real access check and hub (numbers scripted by the harness)."""

from __future__ import annotations

import itertools
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, ViewportSize, expect

from tests.accessibility import broken_in_both_schemes
from tests.conftest import PATIENCE_MS
from tests.saved_charts import saved_chart
from web.assets import assets_url

pytestmark = [pytest.mark.browser, pytest.mark.pages]
ROOT = Path(__file__).resolve().parents[3]
DESKTOP: ViewportSize = {"width": 1400, "height": 1000}
RANGES = """[...document.querySelectorAll('.lv-plot')].map((plot) => plot._fullLayout?.xaxis)
  .filter((axis) => axis?.tickmode === 'array').map((axis) => axis.range)"""
DECODE = "document.querySelector('.lv-wide .lv-plot')"
DRAWN = "() => document.querySelector('.lv-wide .lv-plot .main-svg') !== null"

AT_30_S = (
    f"(() => {{ const axis = {DECODE}._fullLayout.xaxis;"
    f" return {DECODE}.getBoundingClientRect().left + axis._offset + axis.l2p(30); }})()"
)


class Harness:
    """The harness server as a process of its own, on one port through all its lives."""

    def __init__(self, data: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.data = data
        self.t0 = time.time()
        self.start()

    def start(self) -> None:
        env = os.environ | {
            "PITWALL_DATA": str(self.data),
            "PITWALL_PORT": str(self.port),
            "HARNESS_T0": str(self.t0),
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
        }
        command = [
            sys.executable,
            "-m",
            "streamlit",
            "run",
            "tests/web/harness/app.py",
            "--server.port",
            str(self.port),
        ]
        self.process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if match := re.search(r"Open (\S+)", line):
                self.url = match[1]
                return
        raise AssertionError("the harness ended before it was up")

    def stop(self) -> str:
        """End it as a service manager does; its last words."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.communicate(timeout=30)[0]


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harness]:
    harness = Harness(tmp_path_factory.mktemp("harness"))
    yield harness
    if harness.process.poll() is None:
        harness.stop()


@pytest.fixture(scope="module")
def kept_page(browser: Browser) -> Iterator[Page]:
    """One for the module: another would fetch and compile the scripts again, for a third of its CPU."""
    context = browser.new_context(viewport=DESKTOP, color_scheme="light")
    context.set_default_timeout(PATIENCE_MS)
    yield context.new_page()
    context.close()


@pytest.fixture
def page(kept_page: Page) -> Iterator[Page]:
    """Empty at the start of each test, and without an error at its end."""
    failures: list[str] = []

    def keep(error: Error) -> None:
        failures.append(str(error))

    kept_page.on("pageerror", keep)
    yield kept_page
    kept_page.goto("about:blank")
    kept_page.remove_listener("pageerror", keep)
    kept_page.emulate_media(color_scheme="light")
    kept_page.set_viewport_size(DESKTOP)
    assert failures == []


def open_live(page: Page, harness: Harness, *run_ids: str) -> None:
    page.goto(harness.url + "".join(f"&run={run_id}" for run_id in run_ids))
    page.wait_for_function(DRAWN)


def wait_for_ticks(page: Page) -> None:
    """Until the decode chart has three more points than now."""
    count = page.evaluate(f"{DECODE}.data[0].x.length")
    page.wait_for_function(f"() => {DECODE}.data[0].x.length >= {count} + 3")


def ranges(page: Page) -> list[list[float]]:
    return page.evaluate(RANGES)


def drag_zoom(page: Page) -> None:
    box = page.locator(".lv-wide .nsewdrag").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 200, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 60, steps=8)
    page.mouse.up()


def test_zoom_and_nodes_survive_ticks_and_reruns(page: Page, harness: Harness) -> None:
    open_live(page, harness, "live-1", "ghost-0")
    following = ranges(page)[0]
    drag_zoom(page)
    expect(page.get_by_role("button", name="Follow live")).to_be_visible()
    page.wait_for_function(f"() => new Set({RANGES}.map(String)).size === 1")  # the others follow in the next frames
    chosen_ranges = ranges(page)
    assert len(chosen_ranges) >= 3 and chosen_ranges[0] != following
    page.evaluate(f"window.plotBefore = {DECODE}; window.svgBefore = {DECODE}.querySelector('.main-svg')")
    wait_for_ticks(page)
    page.get_by_role("button", name="Rerun").click()
    expect(page.locator(".lv-lane").nth(1)).to_contain_text("not compared: asked 1 times")
    wait_for_ticks(page)
    assert ranges(page)[0] == chosen_ranges[0]
    assert page.evaluate(f"plotBefore === {DECODE} && svgBefore === {DECODE}.querySelector('.main-svg')")
    page.get_by_role("button", name="Follow live").click()
    page.wait_for_function(f"() => {DECODE}._fullLayout.xaxis.range[0] !== {chosen_ranges[0][0]}")


def test_reader_choices_return_from_the_address(page: Page, harness: Harness) -> None:
    """Also after the script wrote into the address."""
    open_live(page, harness, "live-1", "ghost-0")
    drag_zoom(page)
    page.get_by_label("Log scale").check()
    page.get_by_label("Lines").select_option("mean of 10 s")
    page.locator(".lv-chip").last.hover()
    page.get_by_role("button", name="Show only no-speculation-0 in the charts").click()
    expect(page).to_have_url(re.compile(r"from=[\d.]+&to=[\d.]+&scale=log&smooth=10&hide=live-1$"))
    page.get_by_role("button", name="Add a word to the address").click()
    expect(page).to_have_url(re.compile("word=said"))
    expect(page).to_have_url(re.compile("scale=log&smooth=10&hide=live-1"))
    chosen = ranges(page)[0]
    page.reload()
    page.wait_for_function(DRAWN)
    assert ranges(page)[0] == pytest.approx(chosen, abs=0.01)
    assert page.evaluate(f"{DECODE}.layout.yaxis.type") == "log"
    assert set(page.evaluate(f"{DECODE}.data.map((trace) => trace.name)")) == {"no-speculation-0"}
    assert sorted(page.evaluate(f"{DECODE}.data.map((trace) => trace.opacity)")) == [0.3, 0.6, 0.6]
    page.get_by_role("button", name="Show mtp4-kv-fp8-1 in the charts").click()
    page.wait_for_function(f"() => {DECODE}.data.length === 6")


def test_chart_is_saved_as_image_and_samples(page: Page, harness: Harness, tmp_path: Path) -> None:
    open_live(page, harness, "ghost-0", "ghost-1")
    saved = saved_chart(page, "Decode speed", tmp_path)
    assert saved["PNG"].startswith(b"\x89PNG") and len(saved["PNG"]) > 10_000
    assert b"Decode speed" in saved["SVG"] and b"mtp4-kv-fp8-1" in saved["SVG"]
    rows = saved["CSV"].decode().splitlines()
    assert len(rows) == 1 + page.evaluate(f"{DECODE}.data[0].x.length + {DECODE}.data[2].x.length")
    assert rows[1].split(",")[:2] == ["ghost-0", "no-speculation-0"]


def test_marked_moment_shows_its_events(page: Page, harness: Harness) -> None:
    open_live(page, harness, "ghost-1")
    page.locator(".lv-wide .lv-plot").dispatch_event("pointermove", {"clientX": page.evaluate(AT_30_S)})
    expect(page.locator(".lv-at")).to_have_text("at 0:30: load five-prompts begins")
    flags = page.locator(".lv-wide .lv-flag").evaluate_all("(flags) => flags.map((flag) => flag.ariaLabel)")
    assert flags == ["0:30: load five-prompts begins", "0:40: phase code", "1:00: phase prose", "3:40: finished"]


def test_server_restart_leaves_no_hole_or_double(page: Page, harness: Harness) -> None:
    open_live(page, harness, "live-1", "live-2")
    wait_for_ticks(page)
    assert "Closed" in harness.stop(), "SIGTERM lets the server end in order while a browser watches"
    status = page.locator(".lv-status")
    expect(status).to_contain_text("Reconnecting")
    harness.start()
    expect(status).to_have_text("Live", timeout=60_000)
    wait_for_ticks(page)
    for trace in (0, 2):  # the grey lines, which hold every sample
        x = page.evaluate(f"{DECODE}.data[{trace}].x")
        steps = {round(later - earlier, 3) for earlier, later in itertools.pairwise(x)}
        assert steps == {1.0}


def test_log_lines_are_only_ever_text(page: Page, harness: Harness) -> None:
    open_live(page, harness, "live-1")
    line = page.locator(".lv-line code", has_text="<script>window.injected").first
    expect(line).to_contain_text("</script><img src=x onerror=")
    assert page.evaluate(
        "window.injected === undefined && document.querySelector('.lv-live img, .lv-live script') === null"
    )


def test_what_is_unknown_says_why(page: Page, harness: Harness) -> None:
    open_live(page, harness, "live-0", "failed", "starting", "silent", "nobody")
    chip, lane = page.locator(".lv-chip"), page.locator(".lv-lane")
    expect(lane.nth(0)).to_contain_text("no NVIDIA driver on this machine")
    expect(lane.nth(0).locator(".lv-dash").first).to_contain_text("unknown: speculation is off")
    expect(page.locator(".lv-causes")).to_contain_text("no room for the KV cache")
    expect(page.locator(".lv-causes")).to_contain_text("CUDA error: out of memory")
    expect(chip.nth(2)).to_contain_text("loading weights 34 %")
    expect(chip.nth(2)).not_to_contain_text("unknown")
    expect(lane.nth(2)).to_be_hidden()
    expect(chip.nth(3)).to_contain_text("no samples for")
    expect(chip.nth(4)).to_contain_text("no run has this id")
    expect(page.locator(".lv-absences")).to_contain_text("GPU power, GPU clock (no NVIDIA driver on this machine)")
    expect(page.get_by_text("GPU power", exact=True)).to_be_hidden()


def test_waiting_run_shows_no_empty_charts(page: Page, harness: Harness) -> None:
    open_live(page, harness, "live-1", "queued")
    expect(page.locator(".lv-absences")).to_contain_text("GPU power, GPU clock (no NVIDIA driver on this machine)")
    expect(page.get_by_text("GPU power", exact=True)).to_be_hidden()
    expect(page.get_by_text("1 waits: no-speculation-6")).to_be_visible()
    expect(page.locator(".lv-chip").nth(1)).to_be_hidden()
    expect(page.locator(".lv-log").nth(1)).to_be_hidden()


def test_final_refusal_is_shown_and_not_retried(page: Page, harness: Harness) -> None:
    sockets: list[str] = []
    page.on("websocket", lambda socket: sockets.append(socket.url))
    page.goto(harness.url + "".join(f"&run=live-{number}" for number in range(17)))
    expect(page.locator(".lv-status")).to_have_text("name 1 to 16 runs as ?run=<id>")
    page.wait_for_timeout(3000)
    assert sum("/ws/live" in url for url in sockets) == 1


def test_the_theme_changes_in_place(page: Page, harness: Harness) -> None:
    open_live(page, harness, "live-1")
    light = page.evaluate(f"[{DECODE}._fullLayout.font.color, {DECODE}.data[1].line.color]")
    page.evaluate(f"window.plotBefore = {DECODE}")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"() => {DECODE}._fullLayout.font.color !== '{light[0]}'")
    assert page.evaluate(f"{DECODE}.data[1].line.color") != light[1]
    assert page.evaluate(f"plotBefore === {DECODE}")


def test_no_rule_of_wcag_aa_is_broken(page: Page, harness: Harness) -> None:
    page.set_viewport_size({"width": 390, "height": 2600})
    open_live(page, harness, "live-1", "ghost-0", "failed", "silent", "nobody")
    for width in (390, 1400):
        page.set_viewport_size({"width": width, "height": 2600})
        assert broken_in_both_schemes(page, within=".lv-live") == [], width
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width


OVERLAP = """async (assets) => {
  const { RunModel } = await import(`${assets}/live/model.js`);
  const model = new RunModel("a");
  const part = (t, ...offsets) => ({
    series: { decode_tps: { t, v: t.map((x) => 10 * x) } },
    log: offsets.map((offset) => ({ at: offset, t: null, text: "", mark: null, why: null })),
  });
  model.apply({ type: "snapshot", seq: 4, cursor: "x", ...part([1, 2, 3], 0, 9) });
  const next = { type: "delta", seq: 5, cursor: "y", ...part([2, 3, 4], 9, 20) };
  const follows = [model.follows(next), model.follows({ ...next, seq: 6 })];
  const changes = model.apply(next);
  const read = [model.series.decode_tps.t, model.series.decode_tps.v, model.log.map((line) => line.at)];
  return [follows, changes.log.length, ...read];
}"""


def test_overlap_is_merged_and_loss_is_noticed(page: Page, harness: Harness) -> None:
    page.goto(harness.url)
    follows, new_lines, t, v, offsets = page.evaluate(OVERLAP, assets_url())
    assert follows == [True, False]
    assert new_lines == 1
    assert (t, v, offsets) == ([1, 2, 3, 4], [10, 20, 30, 40], [0, 9, 20])
