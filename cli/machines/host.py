"""`./pitwall host add|list|remove`: manages the machines on which servers may be started over ssh."""

from __future__ import annotations

import argparse
import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.answers import Answer, add_command, audit_user

if TYPE_CHECKING:
    from launcher.remote.hosts import Host, HostBook


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall host add`, `list` and `remove` to the parser."""
    help_text = "add, list and remove machines on which servers may be started over ssh"
    host = commands.add_parser("host", help=help_text, description=help_text)
    orders = host.add_subparsers(dest="order", required=True, metavar="ORDER")
    add_command_parser = add_command(orders, "add", add, "add a host, once the Pitwall on it has answered")
    add_command_parser.add_argument("label", metavar="LABEL", help="its name on the Launch page")
    add_command_parser.add_argument(
        "target", metavar="HOST", help="ssh destination: HOST, USER@HOST, or a name of ~/.ssh/config"
    )
    help_text = "Pitwall checkout on that machine, relative to the home folder (default: pitwall)"
    add_command_parser.add_argument("--folder", default="pitwall", metavar="PATH", help=help_text)
    help_text = "name or IP address by which its servers are reached (default: through the ssh connection)"
    add_command_parser.add_argument("--address", metavar="NAME", help=help_text)
    add_command_parser.add_argument(
        "--ssh-config", type=Path, metavar="FILE", help="for ssh -F, instead of ~/.ssh/config"
    )
    add_command(orders, "list", list_all, "print the hosts")
    remove_command_parser = add_command(
        orders, "remove", remove, "remove a host; its running servers are still followed"
    )
    remove_command_parser.add_argument("label", metavar="LABEL")


def add(arguments: argparse.Namespace) -> Answer:
    """Add a host after querying it; raises HostError, OSError."""
    from domain import utc_now
    from launcher.remote.hosts import Host
    from launcher.remote.remote_checks import read_machine

    host = Host(
        label=arguments.label,
        target=arguments.target,
        folder=arguments.folder,
        address=arguments.address,
        ssh_config=str(arguments.ssh_config.absolute()) if arguments.ssh_config else None,
        added_by=getpass.getuser(),
        added_at=utc_now(),
    )
    machine = read_machine(host)
    host = host.model_copy(update={"machine_id": machine.id})
    _book().add(host, audit_user())
    hardware = f"{machine.cores or '?'} cores, {len(machine.gpus)} GPU{'' if len(machine.gpus) == 1 else 's'}"
    return Answer(f"Servers may be started on {host.label}: {machine.host_name}, {hardware}.", _as_json(host))


def list_all(arguments: argparse.Namespace) -> Answer:
    """List the hosts and how their servers are reached, without contacting them."""
    hosts = _book().all()
    lines = [f"{host.label}: {host.target}, {host.folder}, servers reached {_connection_text(host)}" for host in hosts]
    return Answer("\n".join(lines) or "There are no hosts.", {"hosts": [_as_json(host) for host in hosts]})


def remove(arguments: argparse.Namespace) -> Answer:
    """Remove a host; raises HostError."""
    host = _book().remove(arguments.label, audit_user())
    return Answer(f"Removed {host.label}. Servers already running there are still followed.", _as_json(host))


def _connection_text(host: Host) -> str:
    return f"at {host.address}" if host.address else "through ssh"


def _as_json(host: Host) -> dict[str, Any]:
    return host.model_dump(mode="json")


def _book() -> HostBook:
    from launcher.remote.hosts import HostBook
    from settings import load_settings

    return HostBook(load_settings().hosts_path)
