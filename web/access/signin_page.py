"""The plain page for unknown visitors, refusals and addresses without a page."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

from web.assets import STATIC
from web.theme import BACKGROUND, MUTED, RUN_HUES, TEXT

ICON = (STATIC / "icon.svg").read_text().replace("<svg", '<svg width="24" height="24" aria-hidden="true"', 1)
SIGN_IN = "sign-in"
BEGIN, BACK = f"/{SIGN_IN}/begin", f"/{SIGN_IN}/back"  # the routes to a team's provider and back


class ProviderLink(NamedTuple):
    """The name of a sign-in provider, and the address that leads there."""

    provider: str
    address: str


_STYLE = f"""
:root {{ color-scheme: light dark; --ground: {BACKGROUND["light"]}; --text: {TEXT["light"]};
  --muted: {MUTED["light"]}; --accent: {RUN_HUES["light"][0]}; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ground: {BACKGROUND["dark"]}; --text: {TEXT["dark"]};
  --muted: {MUTED["dark"]}; --accent: {RUN_HUES["dark"][0]}; }} }}
body {{ margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--ground);
  color: var(--text); font: 15px/1.5 Inter, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }}
main {{ max-width: 26rem; padding: 1.5rem; }}
h1 {{ font-size: 1.35rem; font-weight: 650; margin: 0 0 .5rem; }}
form + p {{ margin-top: 1rem; }}
p {{ margin: 0 0 1rem; color: var(--muted); }}
a {{ color: var(--accent); }}
header {{ display: flex; align-items: center; gap: .5rem; margin-bottom: 1.5rem; font-size: 1.07rem;
  font-weight: 650; }}
:focus-visible {{ outline: 2px solid var(--accent); outline-offset: 2px; }}
label {{ display: block; font-weight: 600; margin-bottom: .25rem; }}
input, button {{ font: inherit; padding: .5rem .75rem; border: 1px solid var(--muted); border-radius: 6px;
  background: transparent; color: inherit; box-sizing: border-box; }}
input {{ width: 100%; margin-bottom: .75rem; }}
a.way {{ display: inline-block; padding: .5rem .75rem; border-radius: 6px; text-decoration: none;
  font-weight: 600; }}
button, a.way {{ background: var(--accent); border-color: var(--accent); color: var(--ground); font-weight: 600;
  cursor: pointer; }}
"""
_MARK = f"<header>{ICON}<span>Pitwall</span></header>"
_SHARES_COOKIES = (
    "The sign-in is a cookie, and browsers send cookies to every port of a host name: other servers that you open "
    "under this host name receive it too. Open only servers there that you trust, or give Pitwall its own host name."
)
SCRIPT = """document.forms[0].onsubmit = (event) => { const input = event.target.elements.token;
try { input.value = new URL(input.value.trim()).searchParams.get("token") ?? input.value; } catch {} };"""


def _link(provider_link: ProviderLink | None) -> str:
    if provider_link is None:
        return ""
    address, provider = escape(provider_link.address), escape(provider_link.provider)
    return f'<p><a class="way" href="{address}">Sign in with {provider}</a></p>'


def _form(query: list[tuple[str, str]]) -> str:
    hidden = "".join(f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">' for name, value in query)
    return (
        '<form method="get"><label for="token">Token, or the full URL that Pitwall printed</label>'
        '<input id="token" name="token" type="password" autocomplete="off" required autofocus>'
        f"{hidden}<button>Sign in</button></form><p><small>{_SHARES_COOKIES}</small></p><script>{SCRIPT}</script>"
    )


def signin_page(
    title: str,
    text: str,
    form: list[tuple[str, str]] | None,
    home: str | None = None,
    provider_link: ProviderLink | None = None,
) -> str:
    """Return the page's HTML; `form` holds the query parameters to keep through the sign-in, None means no form.

    `home` is the address of the first page, for visitors who may see it.
    """
    link = f'<p><a href="{escape(home)}">Go to the start page</a></p>' if home else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Pitwall</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><main>{_MARK}<h1>{escape(title)}</h1><p>{escape(text)}</p>"
        f"{link}{_link(provider_link)}{'' if form is None else _form(form)}</main></body></html>"
    )
