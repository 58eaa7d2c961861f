"""The Launch page as a person uses it: one step after the other, each awaited."""

from __future__ import annotations

from contextlib import suppress

from playwright.sync_api import Locator, Page, TimeoutError, expect

from tests.e2e.page_at_rest import current, press
from tests.e2e.pitwall_process import Pitwall, wait_until


def command_box(page: Page) -> Locator:
    return current(page.get_by_role("textbox", name="Command", exact=True))


def launch_button(page: Page) -> Locator:
    return current(page.get_by_role("button", name="Launch", exact=True))


def paste(page: Page, command: str) -> None:
    """Put the command into its box and have the page read it."""
    command_box(page).fill(command)
    command_box(page).press("Control+Enter")


def paste_launchable(page: Page, command: str) -> None:
    """The same, until it may be launched: what is filled in earlier than that, the page may still redraw."""
    paste(page, command)
    expect(launch_button(page)).to_be_enabled()


def choose_workload(page: Page, title: str) -> None:
    """Pick a workload on the Launch page."""
    choose_option(page, "Workload", title)


def choose_option(page: Page, label: str, title: str) -> None:
    """Pick from a list; where the page is redrawn meanwhile and closes it, it is opened again."""
    box = current(page.get_by_role("combobox", name=label, exact=True))
    for _ in range(10):
        with suppress(TimeoutError):
            box.click(timeout=5000)
            page.get_by_role("option", name=title).click(timeout=5000)
            break
    expect(box).to_have_value(title)


def choose_later(page: Page, title: str) -> None:
    """Add a load that the same server serves next; of a long list the browser has those alone that are in sight."""
    box = current(page.get_by_role("combobox", name="Then, on the same server"))
    for _ in range(10):
        with suppress(TimeoutError):
            box.fill(title, timeout=5000)
            page.get_by_role("option", name=title, exact=True).click(timeout=5000)
            break
    text = page.get_by_test_id("stMultiSelect").filter(has_text="Then, on the same server")
    expect(text.get_by_text(title, exact=True).first).to_be_visible()


def choose_no_workload(page: Page) -> None:
    """One run, which goes on until it is stopped."""
    choose_workload(page, "None: only watch its users' requests")
    expect(page.get_by_text("It runs until it is stopped")).to_be_visible()


def set_repeats(page: Page, repeats: int) -> None:
    """How many runs the next launch makes, once the page has said what they will show."""
    box = current(page.get_by_label("Repeats", exact=True))
    box.fill(str(repeats))
    box.press("Enter")
    words = "1 server start." if repeats == 1 else f"{repeats} server starts, one after the other."
    expect(page.get_by_text(words)).to_be_visible()


def watch_server(page: Page, pitwall: Pitwall, base_url: str, name: str) -> str:
    """Attach a run to a server that Pitwall did not start; the run's id, once it is ready."""
    page.goto(f"{pitwall.url}/launch")
    press(page.get_by_role("tab", name="Watch a running server"))
    current(page.get_by_label("URL of the server")).fill(base_url)
    current(page.get_by_label("Name", exact=True)).last.fill(name)
    press(current(page.get_by_role("button", name="Watch it")).last)
    wait_until(lambda: pitwall.states().get(name) == "ready", 60)
    ((run_id,),) = pitwall.sql(f"SELECT run_id FROM runs WHERE name = '{name}'")
    return str(run_id)
