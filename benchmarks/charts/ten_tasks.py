"""Ten tasks of the README in a real Chromium, as a user does them: clicks and seconds, in two checkouts by turns.

    python -m benchmarks.charts.ten_tasks [--other PATH] [--turns 3]

Each task begins on a page that has been drawn, and ends when what the user wanted is in sight. A click is a press of
the mouse or of Enter; a typed text counts as one. PATH is another checkout as for page_opening. A task that a checkout
cannot do within 20 s a step has a dash.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Error, Locator, Page, expect, sync_playwright

from benchmarks.charts.page_opening import DESKTOP, Checkout, filled_checkout
from scripts.find_browser import installed
from tests.e2e.conftest import signed_in
from tests.e2e.page_at_rest import current, wait_for_rest
from tests.e2e.pitwall_process import ROOT

STEP_MS = 20_000
TICK_PX, HEAD_PX, ROW_PX, NAME_PX = 16, 36, 31, 120  # of the table of runs
COMMAND = "vllm serve org/model --max-model-len 8192"


@dataclass
class User:
    """Somebody at a page, with a count of what they do."""

    page: Page
    checkout: Checkout
    steps: int = 0

    def button(self, name: str | re.Pattern[str]) -> Locator:
        return current(self.page.get_by_role("button", name=name, exact=isinstance(name, str))).first

    def press(self, target: Locator) -> None:
        """Press a control."""
        self.steps += 1
        target.click()

    def type(self, box: Locator, text: str) -> None:
        """Type into a box and leave it."""
        self.steps += 1
        box.fill(text)
        box.press("Control+Enter")

    def choose(self, label: str, option: str) -> None:
        """Open a list and take an option."""
        self.press(current(self.page.get_by_role("combobox", name=label)).first)
        self.press(self.page.get_by_role("option", name=option).first)

    def press_row(self, row: int, x_px: int) -> None:
        """Press a place of a row of the table of runs."""
        table = self.page.get_by_test_id("stDataFrame").first
        self.steps += 1
        table.click(position={"x": x_px, "y": HEAD_PX + ROW_PX * row + ROW_PX / 2})


def find_the_fastest(user: User) -> None:
    user.choose("Sort by", "Stream, tok/s")
    expect(user.page).to_have_url(re.compile("order=stream"))
    wait_for_rest(user.page)


def open_a_run(user: User) -> None:
    user.press_row(0, NAME_PX)
    expect(user.page.locator(".pw-numbers, .lv-plot").first).to_be_visible()


def compare_two_runs(user: User) -> None:
    user.press_row(0, TICK_PX)
    user.press_row(1, TICK_PX)
    user.press(user.page.get_by_role("link", name=re.compile("^Compare")).or_(user.button(re.compile("^Compare"))).last)
    expect(user.page.locator(".pw-answer").first).to_be_visible()


def change_the_baseline(user: User) -> None:
    before = user.page.url
    user.press(user.page.get_by_role("button", name="run 1").filter(visible=True).first)
    expect(user.page).not_to_have_url(before)
    expect(user.page.locator(".pw-answer").first).to_be_visible()
    wait_for_rest(user.page)


def make_a_link(user: User) -> None:
    user.press(user.button("Share"))
    user.press(user.button("Make a link"))
    expect(user.page.get_by_role("dialog").locator("code", has_text="/share/").first).to_be_visible()


def write_a_report(user: User) -> None:
    user.press(user.button("Report"))
    with user.page.expect_download() as caught:
        user.press(user.button("One page (HTML)"))
    assert caught.value.path().stat().st_size > 10_000


def find_a_setting(user: User) -> None:
    user.type(user.page.get_by_role("textbox", name="Find", exact=True), "run 3")
    expect(user.page.get_by_text(re.compile("that have ended")).first).to_be_visible()
    expect(user.page).to_have_url(re.compile("find="))
    wait_for_rest(user.page)


def check_a_command(user: User) -> None:
    user.type(current(user.page.get_by_role("textbox", name="Command", exact=True)), COMMAND)
    expect(current(user.page.get_by_label("Longest context").or_(user.page.get_by_text("8192"))).first).to_be_visible()
    wait_for_rest(user.page)


def begin_a_study_without_toml(user: User) -> None:
    """Until the plan says how many starts it takes; two arms are earlier runs."""
    for name in ("run 13", "run 12"):
        user.press(current(user.page.get_by_role("combobox", name=re.compile("Arms from earlier runs"))).first)
        user.press(user.page.get_by_role("option", name=name).first)
        wait_for_rest(user.page)
    user.page.keyboard.press("Escape")
    expect(user.page.get_by_text(re.compile(r"at most \d+ starts")).first).to_be_visible()


def ask_sql(user: User) -> None:
    user.press(user.page.get_by_role("button", name="Run", exact=True).first)
    expect(user.page.get_by_text(re.compile(r"rows? in")).first).to_be_visible()


TASKS: dict[str, tuple[str, Callable[[User], None]]] = {
    "find the fastest run": ("?", find_the_fastest),
    "find runs by a word": ("?", find_a_setting),
    "open a run": ("?", open_a_run),
    "compare two runs": ("?", compare_two_runs),
    "take another baseline": ("compare?{runs}", change_the_baseline),
    "make a link for a teammate": ("run?{run}", make_a_link),
    "write a report": ("compare?{runs}", write_a_report),
    "see what a command means": ("launch", check_a_command),
    "plan a study of two earlier runs": ("studies", begin_a_study_without_toml),
    "ask the store in SQL": ("sql", ask_sql),
}


def carried_out(user: User, path: str, task: Callable[[User], None]) -> tuple[int, float] | None:
    """Return the steps and seconds of a task; None if it cannot be done so."""
    runs = [f"run={run_id}" for run_id in user.checkout.run_ids]
    user.page.goto(f"{user.checkout.pitwall.url}/{path.format(runs='&'.join(runs[:3]), run=runs[0])}")
    wait_for_rest(user.page)
    user.page.wait_for_timeout(1000)
    began_s = time.monotonic()
    try:
        task(user)
    except (Error, AssertionError) as error:
        print(f"{user.checkout.name}: {str(error).splitlines()[0]}", file=sys.stderr)
        return None
    return user.steps, time.monotonic() - began_s


def print_table(checkouts: Sequence[Checkout], results: dict[str, dict[str, list[tuple[int, float] | None]]]) -> None:
    heads = "".join(f" clicks {checkout.name} | seconds |" for checkout in checkouts)
    print(f"| task |{heads}\n|---|{'---|---|' * len(checkouts)}")
    for name in TASKS:
        cells = [_cells(results[checkout.name][name]) for checkout in checkouts]
        print(f"| {name} | {' | '.join(cells)} |")


def _cells(attempts: Sequence[tuple[int, float] | None]) -> str:
    done = [attempt for attempt in attempts if attempt]
    if len(done) < len(attempts):
        return "– | –"
    return f"{done[0][0]} | {statistics.median(seconds for _, seconds in done):.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--other", type=Path)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    roots = {"this": ROOT} | ({"other": arguments.other.resolve()} if arguments.other else {})
    checkouts = list[Checkout]()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed(), args=["--no-sandbox", "--disable-gpu"])
        try:
            checkouts += [filled_checkout(name, root, Path(folder) / name) for name, root in roots.items()]
            results: dict[str, dict[str, list[tuple[int, float] | None]]] = {
                checkout.name: {name: [] for name in TASKS} for checkout in checkouts
            }
            for _ in range(arguments.turns):
                for name, (path, task) in TASKS.items():
                    for checkout in checkouts:
                        context = signed_in(browser, checkout.pitwall, viewport=DESKTOP)
                        context.set_default_timeout(STEP_MS)
                        expect.set_options(timeout=STEP_MS)
                        user = User(context.new_page(), checkout)
                        results[checkout.name][name].append(carried_out(user, path, task))
                        context.close()
            print_table(checkouts, results)
        finally:
            for checkout in checkouts:
                checkout.pitwall.end_everything()
    print(f"\nload average {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
