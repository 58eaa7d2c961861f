"""`./pitwall peer add|list|remove`: the other Pitwalls whose live runs may be watched here."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.answers import Answer, add_command, who

if TYPE_CHECKING:
    from web.live.elsewhere.peers import Peer, PeerBook

TOKEN_VARIABLE = "PITWALL_PEER_TOKEN"


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall peer add`, `list` and `remove` to the parser."""
    words = "confirm, list and remove other Pitwalls whose live runs may be watched on Live"
    peer = commands.add_parser("peer", help=words, description=words)
    orders = peer.add_subparsers(dest="order", required=True, metavar="ORDER")
    words = "confirm one by its address and a token of live:read that was made there"
    added = add_command(orders, "add", add, words)
    added.add_argument("name", metavar="NAME", help="as Live calls it")
    added.add_argument("url", metavar="URL", help="https, or http on this machine")
    words = f"a file of mode 0600 with the token, - for standard input (default: the variable {TOKEN_VARIABLE})"
    added.add_argument("--token-file", metavar="FILE", help=words)
    added.add_argument("--ca", type=Path, metavar="FILE", help="certificates to trust in place of the usual ones")
    add_command(orders, "list", list_all, "print them, without their tokens")
    removed = add_command(orders, "remove", remove, "watch one no longer")
    removed.add_argument("name", metavar="NAME")


def add(arguments: argparse.Namespace) -> Answer:
    """Raises PeerError, AddressError, PitwallError, OSError."""
    from pydantic import ValidationError

    from cli.secret_input import read_token
    from domain import utc_now
    from web.live.elsewhere.peers import Peer, PeerError

    token = read_token(arguments.token_file, TOKEN_VARIABLE)
    if arguments.ca:
        _check_certificates(arguments.ca)
    try:
        peer = Peer(
            name=arguments.name,
            url=arguments.url,
            token=token,
            trusted=str(arguments.ca.absolute()) if arguments.ca else None,
            confirmed_by=who(),
            confirmed_at=utc_now(),
        )
    except ValidationError:
        raise PeerError("A name has 1 to 40 letters, digits, '.', '_' or '-'.") from None
    _book().confirm(peer, in_shell=True)
    return Answer(f"{peer.name} is watched at {peer.url}; its token goes there and nowhere else.", _as_json(peer))


def _check_certificates(file: Path) -> None:
    """Raises PeerError for a file without certificates, OSError for one that cannot be read."""
    import ssl

    from web.live.elsewhere.peers import PeerError

    file.open().close()
    try:
        ssl.create_default_context(cafile=str(file))
    except ssl.SSLError:
        raise PeerError(f"{file} holds no certificates.") from None


def list_all(arguments: argparse.Namespace) -> Answer:
    """Every peer that was confirmed, without its token; none of them is asked anything."""
    peers = _book().all()
    lines = [f"{one.name}: {one.url}, confirmed {one.confirmed_at:%Y-%m-%d} by {one.confirmed_by}" for one in peers]
    return Answer("\n".join(lines) or "No other Pitwall is watched.", {"peers": [_as_json(peer) for peer in peers]})


def remove(arguments: argparse.Namespace) -> Answer:
    """Raises PeerError."""
    gone = _book().forget(arguments.name, who())
    return Answer(f"{gone.name} is watched no longer. Revoke its token there.", _as_json(gone))


def _as_json(peer: Peer) -> dict[str, Any]:
    return peer.model_dump(mode="json", exclude={"token"})


def _book() -> PeerBook:
    from settings import load_settings
    from web.live.elsewhere.peers import PeerBook

    return PeerBook(load_settings().peers_path)
