"""`./pitwall mcp`: answers agents through the Model Context Protocol, by standard input or by HTTP with tokens."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from ipaddress import ip_address

from cli.exit_status import DONE
from errors import PitwallError

NOT_INSTALLED = "The MCP server needs its SDK: .venv/bin/python -m pip install -r requirements-mcp.txt"
NOT_AN_ADDRESS = "--listen is an address of this machine and a port, such as 127.0.0.1:8502."
NOT_LOOPBACK = (
    "The MCP server listens only on this machine, since tokens would cross the network unencrypted: put a TLS proxy in "
    "front of it."
)


class McpServerError(PitwallError):
    """The MCP server cannot start, in one sentence."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall mcp` and its options to the parser."""
    help_text = "let agents ask through the Model Context Protocol: runs, comparisons with the guard, SQL, documents"
    command = commands.add_parser("mcp", help=help_text, description=help_text)
    help_text = "serve HTTP at this address of this machine, with tokens of sql:read (default: standard input)"
    command.add_argument("--listen", metavar="HOST:PORT", help=help_text)
    help_text = "by standard input: agents may propose loads and studies, which wait for `./pitwall proposal accept`"
    command.add_argument("--propose", action="store_true", help=help_text)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until standard input ends or the process is stopped; raises McpServerError, SettingsError."""
    if find_spec("mcp") is None:
        raise McpServerError(NOT_INSTALLED)
    address = _address(arguments.listen) if arguments.listen else None
    from cli.mcp_server.server import serve_http, stdio_server
    from settings import load_settings

    settings = load_settings()
    if address:
        serve_http(settings, *address)
    else:
        stdio_server(settings, may_propose=arguments.propose).run("stdio")
    return DONE


def _address(text: str) -> tuple[str, int]:
    """Return host and port; raises McpServerError for another text, or an address that is not this machine's."""
    host, _, port = text.rpartition(":")
    host = host.strip("[]")
    try:
        is_loopback = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        raise McpServerError(NOT_AN_ADDRESS) from None
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise McpServerError(NOT_AN_ADDRESS)
    if not is_loopback:
        raise McpServerError(NOT_LOOPBACK)
    return host, int(port)
