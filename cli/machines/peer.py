"""`./pitwall peer add|list|remove`: manages the other Pitwalls whose live runs are shown on Live."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.answers import Answer, add_command, audit_user

if TYPE_CHECKING:
    from web.live.peers.peers import Peer, PeerBook

TOKEN_VARIABLE = "PITWALL_PEER_TOKEN"


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall peer add`, `list` and `remove` to the parser."""
    help_text = "confirm, list and remove other Pitwalls whose live runs are shown on Live"
    peer = commands.add_parser("peer", help=help_text, description=help_text)
    orders = peer.add_subparsers(dest="order", required=True, metavar="ORDER")
    help_text = "confirm a Pitwall by its address and a live:read token made there"
    add_command_parser = add_command(orders, "add", add, help_text)
    add_command_parser.add_argument("name", metavar="NAME", help="its name on the Live page")
    add_command_parser.add_argument("url", metavar="URL", help="https, or http on this machine")
    help_text = f"file of mode 0600 with the token, - for standard input (default: the variable {TOKEN_VARIABLE})"
    add_command_parser.add_argument("--token-file", metavar="FILE", help=help_text)
    add_command_parser.add_argument(
        "--ca", type=Path, metavar="FILE", help="certificates to trust instead of the system's"
    )
    add_command(orders, "list", list_all, "print the confirmed Pitwalls, without their tokens")
    remove_command_parser = add_command(orders, "remove", remove, "stop watching a Pitwall")
    remove_command_parser.add_argument("name", metavar="NAME")


def add(arguments: argparse.Namespace) -> Answer:
    """Confirm a peer; raises PeerError, AddressError, PitwallError, OSError."""
    from pydantic import ValidationError

    from cli.secret_input import read_token
    from domain import utc_now
    from web.live.peers.peers import Peer, PeerError

    token = read_token(arguments.token_file, TOKEN_VARIABLE)
    if arguments.ca:
        _check_certificates(arguments.ca)
    try:
        peer = Peer(
            name=arguments.name,
            url=arguments.url,
            token=token,
            trusted=str(arguments.ca.absolute()) if arguments.ca else None,
            confirmed_by=audit_user(),
            confirmed_at=utc_now(),
        )
    except ValidationError:
        raise PeerError("A name has 1 to 40 letters, digits, '.', '_' or '-'.") from None
    _book().confirm(peer, in_shell=True)
    return Answer(f"Watching {peer.name} at {peer.url}. Its token is sent only there.", _as_json(peer))


def _check_certificates(file: Path) -> None:
    """Raise PeerError for a file without certificates, OSError for an unreadable one."""
    import ssl

    from web.live.peers.peers import PeerError

    file.open().close()
    try:
        ssl.create_default_context(cafile=str(file))
    except ssl.SSLError:
        raise PeerError(f"{file} contains no certificates.") from None


def list_all(arguments: argparse.Namespace) -> Answer:
    """List the confirmed peers, without their tokens and without contacting them."""
    peers = _book().all()
    lines = [
        f"{peer.name}: {peer.url}, confirmed {peer.confirmed_at:%Y-%m-%d} by {peer.confirmed_by}" for peer in peers
    ]
    return Answer(
        "\n".join(lines) or "No other Pitwall is being watched.", {"peers": [_as_json(peer) for peer in peers]}
    )


def remove(arguments: argparse.Namespace) -> Answer:
    """Remove a peer; raises PeerError."""
    peer = _book().forget(arguments.name, audit_user())
    return Answer(f"Stopped watching {peer.name}. Revoke its token there.", _as_json(peer))


def _as_json(peer: Peer) -> dict[str, Any]:
    return peer.model_dump(mode="json", exclude={"token"})


def _book() -> PeerBook:
    from settings import load_settings
    from web.live.peers.peers import PeerBook

    return PeerBook(load_settings().peers_path)
