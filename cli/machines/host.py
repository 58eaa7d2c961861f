"""`./pitwall host add|list|remove`: the machines on which servers may be started by ssh."""

from __future__ import annotations

import argparse
import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.answers import Answer, add_command, who

if TYPE_CHECKING:
    from launcher.remote.hosts import Host, HostBook


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall host add`, `list` and `remove` to the parser."""
    words = "add, list and remove machines on which servers may be started by ssh"
    host = commands.add_parser("host", help=words, description=words)
    orders = host.add_subparsers(dest="order", required=True, metavar="ORDER")
    added = add_command(orders, "add", add, "add one, once the Pitwall on it has answered")
    added.add_argument("label", metavar="LABEL", help="as Launch calls it")
    added.add_argument("target", metavar="HOST", help="what ssh is given: HOST, USER@HOST, or a name of ~/.ssh/config")
    words = "the Pitwall checkout over there, from the home folder unless absolute (default: pitwall)"
    added.add_argument("--folder", default="pitwall", metavar="PATH", help=words)
    words = "where its servers are reached from here (default: through the ssh connection)"
    added.add_argument("--address", metavar="NAME", help=words)
    added.add_argument("--ssh-config", type=Path, metavar="FILE", help="for ssh -F, in place of ~/.ssh/config")
    add_command(orders, "list", list_all, "print them")
    removed = add_command(orders, "remove", remove, "start nothing on one any more")
    removed.add_argument("label", metavar="LABEL")


def add(arguments: argparse.Namespace) -> Answer:
    """Raises HostError, OSError."""
    from domain import utc_now
    from launcher.remote.asking import machine_of
    from launcher.remote.hosts import Host

    host = Host(
        label=arguments.label,
        target=arguments.target,
        folder=arguments.folder,
        address=arguments.address,
        ssh_config=str(arguments.ssh_config.absolute()) if arguments.ssh_config else None,
        added_by=getpass.getuser(),
        added_at=utc_now(),
    )
    machine = machine_of(host)
    host = host.model_copy(update={"machine_id": machine.id})
    _book().add(host, who())
    has = f"{machine.cores or '?'} cores, {len(machine.gpus)} GPU{'' if len(machine.gpus) == 1 else 's'}"
    return Answer(f"Servers may be started on {host.label}: {machine.host_name}, {has}.", _as_json(host))


def list_all(arguments: argparse.Namespace) -> Answer:
    """Every machine that was added, and how its servers are reached; none of them is asked anything."""
    hosts = _book().all()
    lines = [f"{one.label}: {one.target}, {one.folder}, servers reached {_way(one)}" for one in hosts]
    return Answer("\n".join(lines) or "No other machine was added.", {"hosts": [_as_json(host) for host in hosts]})


def remove(arguments: argparse.Namespace) -> Answer:
    """Raises HostError."""
    gone = _book().remove(arguments.label, who())
    return Answer(f"Nothing is started on {gone.label} any more; what runs there is still followed.", _as_json(gone))


def _way(host: Host) -> str:
    return f"at {host.address}" if host.address else "through ssh"


def _as_json(host: Host) -> dict[str, Any]:
    return host.model_dump(mode="json")


def _book() -> HostBook:
    from launcher.remote.hosts import HostBook
    from settings import load_settings

    return HostBook(load_settings().hosts_path)
