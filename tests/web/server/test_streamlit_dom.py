"""Parts of Streamlit's own page that Pitwall relies on are still there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import PATIENCE_MS
from tests.ports import free_ports
from web.assets import STATIC

pytestmark = [pytest.mark.browser, pytest.mark.pages]
ROOT = Path(__file__).resolve().parents[3]
CSS = re.sub(r"/\*.*?\*/", "", (STATIC / "streamlit_dom.css").read_text(), flags=re.DOTALL)
STYLES = [(match[1].strip(), match[2]) for match in re.finditer(r"([^{}]+)\{([^{}]*)\}", CSS)]
SELECTORS = dict(re.findall(r'^export const (\w+) = "(.+)";$', (STATIC / "streamlit_dom.js").read_text(), re.MULTILINE))
NAMES_STREAMLIT = re.compile(r"data-test|\.stApp|st-emotion|baseweb|\[role=")
DRAWER_OPENS = "[data-testid=stExpandSidebarButton]"
PHONE = {"width": 600, "height": 900}  # the rules of a narrow screen are in force too
# Of each declaration, whether it decides: said again with more weight it changes nothing.
OVERRULED = """([selector, declarations]) => {
  const probe = document.createElement("i");
  probe.style.cssText = declarations;
  return [...document.querySelectorAll(selector)].flatMap((found) => [...probe.style].filter((property) => {
    const before = found.style.cssText;
    found.style.transition = "none";
    const is = getComputedStyle(found)[property];
    found.style.setProperty(property, probe.style.getPropertyValue(property), "important");
    const shouldBe = getComputedStyle(found)[property];
    found.style.cssText = before;
    return is !== shouldBe;
  }));
}"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    port = free_ports(1)[0]
    command = [sys.executable, "-m", "streamlit", "run", "tests/web/harness/streamlit_parts.py"]
    with subprocess.Popen(
        [*command, "--server.port", str(port)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert any("URL" in line for line in process.stdout), "Streamlit ended before it was up"
        yield f"http://127.0.0.1:{port}"
        process.kill()


@pytest.fixture(scope="module")
def page(browser: Browser, address: str) -> Iterator[Page]:
    context = browser.new_context(viewport=PHONE, color_scheme="dark")
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.route("**/ColorPicker*.js", lambda route: None)
    page.goto(address)
    expect(page.get_by_role("dialog")).to_be_visible()
    page.evaluate("document.documentElement.classList.add('pw-lost')")  # as while its server does not answer
    page.wait_for_function("() => getComputedStyle(document.documentElement).getPropertyValue('--pw-accent') !== ''")
    yield page
    context.close()


@pytest.mark.parametrize(("selector", "declarations"), STYLES, ids=[selector for selector, _ in STYLES])
def test_a_style_meets_what_it_is_for(page: Page, selector: str, declarations: str) -> None:
    element, _, drawn_part = selector.partition("::")
    expect(page.locator(element).first, "Streamlit draws nothing of this name").to_be_attached()
    if drawn_part:  # what a style draws itself is in no document, and Streamlit says nothing of it
        return
    assert page.evaluate(OVERRULED, [selector, declarations]) == [], "Streamlit's own style weighs more"


@pytest.mark.parametrize("name", SELECTORS)
def test_a_script_finds_what_it_waits_for(page: Page, name: str) -> None:
    opener = page.locator(DRAWER_OPENS)
    if name.startswith("DRAWER") and opener.count():  # last, for the drawer has what else the header has
        opener.dispatch_event("click")  # a dialog is over it
    expect(page.locator(SELECTORS[name]).first, "Streamlit draws nothing of this name").to_be_attached()


def test_everything_is_looked_for() -> None:
    """A rule or name that the patterns above do not read would never be tested."""
    assert len(STYLES) == CSS.count("{") - CSS.count("@media") >= 10
    assert len(SELECTORS) == (STATIC / "streamlit_dom.js").read_text().count("export ")
    assert not any("," in re.sub(r"\(.*?\)", "", selector) for selector, _ in STYLES), "one selector a rule"


def test_streamlit_names_are_used_only_here() -> None:
    files = [path for path in (ROOT / "web").rglob("*") if path.suffix in {".py", ".js", ".css"}]
    naming = {path.name for path in files if NAMES_STREAMLIT.search(path.read_text())}
    assert naming == {"streamlit_dom.css", "streamlit_dom.js"}
