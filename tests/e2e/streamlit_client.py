"""Streamlit's own protocol spoken by hand, as somebody would who does not care for the page's buttons."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect


@dataclass
class ByHand:
    """One Streamlit session over a bare WebSocket."""

    socket: ClientConnection

    def rerun(self, query: str = "", page: str = "", page_hash: str = "", click: str = "") -> list[ForwardMsg]:
        """Ask for a script run, `click`ing a widget by its id; everything the server says until the run ends."""
        message = BackMsg()
        message.rerun_script.query_string = query
        message.rerun_script.page_name = page
        message.rerun_script.page_script_hash = page_hash
        if click:
            state = message.rerun_script.widget_states.widgets.add()
            state.id, state.trigger_value = click, True
        self.socket.send(message.SerializeToString())
        return list(self._said())

    def _said(self) -> Iterator[ForwardMsg]:
        while True:
            message = ForwardMsg()
            message.ParseFromString(bytes(self.socket.recv(timeout=60)))
            yield message
            if message.WhichOneof("type") == "script_finished" and message.script_finished in (0, 1):
                return


@contextmanager
def by_hand(url: str, cookie: str) -> Iterator[ByHand]:
    """Connect to the Pitwall at `url` with this Cookie header."""
    address = f"{url.replace('http', 'ws', 1)}/_stcore/stream"
    with connect(address, additional_headers={"cookie": cookie}, subprotocols=["streamlit"], max_size=None) as socket:  # type: ignore[list-item]
        yield ByHand(socket)


def pages(said: list[ForwardMsg]) -> dict[str, str]:
    """The pages that the server's navigation names, by URL path, with their hashes."""
    navigations = [message.navigation for message in said if message.WhichOneof("type") == "navigation"]
    return {page.url_pathname: page.page_script_hash for navigation in navigations for page in navigation.app_pages}


def buttons(said: list[ForwardMsg]) -> dict[str, str]:
    """The buttons that were drawn, by label, with their widget ids."""
    elements = [message.delta.new_element for message in said if message.WhichOneof("type") == "delta"]
    return {element.button.label: element.button.id for element in elements if element.WhichOneof("type") == "button"}
