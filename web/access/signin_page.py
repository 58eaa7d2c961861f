"""The plain page of the access check to a browser it does not know, and of an address that has no page."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

from web.theme import BACKGROUND, MUTED, TEXT

SIGN_IN = "sign-in"
BEGIN, BACK = f"/{SIGN_IN}/begin", f"/{SIGN_IN}/back"  # the way to a team's provider, and from it


class Way(NamedTuple):
    """A provider that signs people in, by its name, and the address that leads there."""

    provider: str
    address: str


_STYLE = f"""
:root {{ color-scheme: light dark; --ground: {BACKGROUND["light"]}; --text: {TEXT["light"]};
  --muted: {MUTED["light"]}; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ground: {BACKGROUND["dark"]}; --text: {TEXT["dark"]};
  --muted: {MUTED["dark"]}; }} }}
body {{ margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--ground);
  color: var(--text); font: 15px/1.5 Inter, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }}
main {{ max-width: 26rem; padding: 1.5rem; }}
h1 {{ font-size: 1.35rem; font-weight: 650; margin: 0 0 .5rem; }}
form + p {{ margin-top: 1rem; }}
p {{ margin: 0 0 1rem; color: var(--muted); }}
a {{ color: inherit; }}
label {{ display: block; font-weight: 600; margin-bottom: .25rem; }}
input, button {{ font: inherit; padding: .5rem .75rem; border: 1px solid var(--muted); border-radius: 6px;
  background: transparent; color: inherit; box-sizing: border-box; }}
input {{ width: 100%; margin-bottom: .75rem; }}
a.way {{ display: inline-block; padding: .5rem .75rem; border-radius: 6px; text-decoration: none;
  font-weight: 600; }}
button, a.way {{ background: var(--text); color: var(--ground); font-weight: 600; cursor: pointer; }}
"""
_SHARES_COOKIES = (
    "The sign-in is a cookie, and a browser sends its cookies to every port of a host name: other servers that you "
    "open under this host name get it too. Open none there that you do not trust, or give Pitwall a host name of its "
    "own."
)
SCRIPT = """document.forms[0].onsubmit = (event) => { const input = event.target.elements.token;
try { input.value = new URL(input.value.trim()).searchParams.get("token") ?? input.value; } catch {} };"""


def _link(way: Way | None) -> str:
    if way is None:
        return ""
    return f'<p><a class="way" href="{escape(way.address)}">Sign in with {escape(way.provider)}</a></p>'


def _form(kept: list[tuple[str, str]]) -> str:
    hidden = "".join(f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">' for name, value in kept)
    return (
        '<form method="get"><label for="token">Token, or the whole URL that was printed</label>'
        '<input id="token" name="token" type="password" autocomplete="off" required autofocus>'
        f"{hidden}<button>Sign in</button></form><p><small>{_SHARES_COOKIES}</small></p><script>{SCRIPT}</script>"
    )


def signin_page(
    title: str,
    text: str,
    form: list[tuple[str, str]] | None,
    home: str | None = None,
    way: Way | None = None,
) -> str:
    """HTML of the page; `form` holds the query parameters to keep through the sign-in, None means no form.

    `home` is the address of the first page, for whoever may see it.
    """
    link = f'<p><a href="{escape(home)}">To the first page</a></p>' if home else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Pitwall</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><main><h1>{escape(title)}</h1><p>{escape(text)}</p>"
        f"{link}{_link(way)}{'' if form is None else _form(form)}</main></body></html>"
    )
