"""The body of the Live page, a Streamlit component: drawn by web/static/live, fed by the push hub, never by reruns."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from web.server.assets import STATIC, assets_url
from web.theme import DOUBT, EXCLUDED, FAILURE, GRID, MUTED, RUN_COLORS, TEXT

_component = st.components.v2.component(
    "pitwall_live",
    css=(STATIC / "live" / "live.css").read_text(),
    js=(STATIC / "component_loader.js").read_text(),
    isolate_styles=False,
)
_PALETTE = {
    "runs": RUN_COLORS,
    "text": TEXT,
    "muted": MUTED,
    "grid": GRID,
    "excluded": EXCLUDED,
    "doubt": DOUBT,
    "failure": FAILURE,
}


def live_plot(
    colors: Mapping[str, int],
    not_comparable: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
    key: str = "live-plot",
    links: Mapping[str, str] | None = None,
) -> None:
    """Show these runs (by id, with their colours) side by side, live ones as they go and finished ones as an overlay.

    The speed of the first divides that of the others;
    `not_comparable` maps a run id to the reason why it is not measured against the baseline;
    `names` are shown until a run itself has answered; `links` lead to runs of other Pitwalls.
    Without a run there is nothing to show and nothing is shown.
    """
    if not colors:
        return
    base = st.get_option("server.baseUrlPath").strip("/")
    base_path = f"/{base}" if base else ""
    _component(
        key=key,
        data={
            "runs": list(colors),
            "colors": dict(colors),
            "names": dict(names or {}),
            "baseline": next(iter(colors)),
            "not_comparable": dict(not_comparable or {}),
            "base": base_path,
            "assets": assets_url(base_path),
            "module": "live/main.js",
            "links": dict(links or {}),
            "run_url": f"{base_path}/run?run=",
            "palette": _PALETTE,
        },
    )
