"""Faults of a page that axe-core reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page, ViewportSize

AXE = Path(str(files("axe_playwright_python") / "axe.min.js"))
TRIES = 12  # what is only fading in or still drawn is looked at again
AGAIN_MS = 1000
SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
# A page of Streamlit's says its scheme itself, once it has followed the system's; any other follows at once.
FOLLOWED = """scheme => {
  const app = document.querySelector('[data-testid="stApp"]');
  return !app || getComputedStyle(app).colorScheme === scheme;
}"""
TO_TOP = "document.querySelector('[data-testid=stMain]')?.scrollTo(0, 0)"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
OF_COLORS = ["color-contrast", "link-in-text-block"]  # the only ones that a scheme's colours have a part in
# What passes is not written down, nor how to select what does not: a third of the time.
RUN = """([within, only]) => axe.run(within, {runOnly: only, resultTypes: ['violations'], selectors: false})"""


def broken_rules(page: Page, within: str = "html", rules: Sequence[str] = RULES) -> list[str]:
    """Each violation of WCAG 2 A or AA within a selector, as 'rule: the elements', when the page has come to rest.

    rules: names of rules, or of their groups.

    A page that is still empty breaks none: await what it shows first.
    """
    if not page.evaluate("'axe' in window"):  # it stays while the page does
        page.evaluate(AXE.read_text() + "; undefined")
    fields: list[dict[str, Any]] = []
    for _ in range(TRIES):
        fields = page.evaluate(RUN, [within, list(rules)])["violations"]
        if not fields:
            break
        page.wait_for_timeout(AGAIN_MS)
    return [f"{field['id']}: {[node['html'][:160] for node in field['nodes'][:3]]}" for field in fields]


def broken_in_both_schemes(page: Page, within: str = "html") -> list[str]:
    """The same in light and, of its colours, in dark too, without opening the page again."""
    told = list[str]()
    for scheme, rules in (("light", RULES), ("dark", OF_COLORS)):
        follow(page, scheme)
        told += [f"{scheme}: {broken_rule}" for broken_rule in broken_rules(page, within, rules)]
    return told


def broken_at_each_size(page: Page, sizes: Iterable[ViewportSize]) -> list[str]:
    """The same of the whole page, and whether it is wider than its window, at each size in turn."""
    told = list[str]()
    for size in sizes:
        page.set_viewport_size(size)
        page.evaluate(TO_TOP)  # a link that is half below the head of Compare counts as too small
        broken = broken_in_both_schemes(page)
        broken += ["wider than its window"] * page.evaluate("document.documentElement.scrollWidth > innerWidth")
        told += [f"{size['width']} pixels, {one}" for one in broken]
    return told


def follow(page: Page, scheme: Literal["light", "dark"]) -> None:
    """Change the system's scheme, and wait until the page has followed."""
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function(FOLLOWED, arg=scheme)
