"""The server of the pages: Streamlit's app (app.py) under uvicorn, with limits on its sockets.

`streamlit run` starts the same uvicorn without any options of ours; its WebSocket options are repeated here.
"""

from __future__ import annotations

from typing import Any

import streamlit as st
import uvicorn
from streamlit.web import bootstrap

from machine.open_files import raise_open_file_limit
from web.server.closing import CLOSE_WITHIN_S, exit_soon_after_a_signal
from web.server.connections import LimitedHttp, limits_for

BACKLOG = 128  # asyncio accepts as many at once, before any of them can be refused
PING_S = 30
GRACE_S = 2  # for responses in progress; the rest of the time after the signal is for closing the store and others


def serve(host: str, port: int, base_path: str = "", close_within_s: float = CLOSE_WITHIN_S) -> None:
    """Serve Pitwall below `base_path` ('/base' or '') until SIGINT or SIGTERM; app.py must be in the working directory.

    The process ends within `close_within_s` after the signal, even if a request, closing or starting hangs.
    """
    bootstrap.load_config_options(
        {"server_address": host, "server_port": port, "server_baseUrlPath": base_path.strip("/")}
    )
    limits = limits_for(raise_open_file_limit())
    exit_soon_after_a_signal(close_within_s)
    uvicorn.run(
        "app:app", host=host, port=port, http=LimitedHttp.with_limits(limits), backlog=BACKLOG, **_streamlit_options()
    )


def _streamlit_options() -> dict[str, Any]:
    """Return uvicorn's options from Streamlit's settings, as Streamlit's own start sets them."""
    ping_s = int(st.get_option("server.websocketPingInterval") or PING_S)
    return {
        "ssl_certfile": st.get_option("server.sslCertFile"),
        "ssl_keyfile": st.get_option("server.sslKeyFile"),
        "loop": "asyncio",  # uvicorn would take uvloop, which is there for the recorder: the limits are tested without
        "ws": "websockets-sansio",
        "ws_ping_interval": ping_s,
        "ws_ping_timeout": ping_s,
        "ws_max_size": int(st.get_option("server.maxMessageSize")) * 1_000_000,
        "ws_per_message_deflate": st.get_option("server.enableWebsocketCompression"),
        "timeout_graceful_shutdown": GRACE_S,
        "log_level": "warning",
        "access_log": False,
        "use_colors": False,
    }
