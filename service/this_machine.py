"""Describes this machine, once per start and on a thread, because a GPU driver may take seconds to answer."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from ipaddress import ip_address
from typing import TYPE_CHECKING

from collectors.machine.gpu_now import look_at_gpus
from domain import Machine, utc_now
from errors import PitwallError
from launcher.runs.provenance import describe_host
from machine.identity import machine_id, own_addresses

if TYPE_CHECKING:  # the far side of a launch by ssh asks for the machine alone, and is to start at once
    from storage.store import Store

OF_THE_MOMENT = ("memory_used_bytes", "unknown")
LOG = logging.getLogger(__name__)


def record_this_machine(store: Store, url: str | None = None) -> threading.Thread:
    """Write this machine's description to the store, on a thread that then ends; `url`: where others reach us."""
    thread = threading.Thread(target=_record, args=(store, url), name="this-machine", daemon=True)
    thread.start()
    return thread


def _record(store: Store, url: str | None) -> None:
    try:
        store.save_machine(replace(this_machine(), url=url)).result()
    except PitwallError as error:  # the store was closed meanwhile, or takes nothing; the next start reports it
        LOG.warning("what this machine is was not stored: %s", error)


def this_machine() -> Machine:
    """What the system and the GPU driver say now."""
    host, gpus, itself = describe_host(), look_at_gpus(), machine_id()
    return Machine(
        id=itself,
        told_by=itself,
        host_name=host["name"],
        addresses=sorted(address for address in own_addresses() if not ip_address(address).is_loopback),
        system=host["system"],
        cpu=host["cpu"],
        cores=host["cores"],
        memory_bytes=host["memory_bytes"],
        gpus=[{name: value for name, value in gpu.items() if name not in OF_THE_MOMENT} for gpu in gpus.gpus],
        gpus_reason=gpus.reason,
        driver_version=gpus.driver_version,
        cuda_version=gpus.cuda_version,
        seen_at=utc_now(),
    )
