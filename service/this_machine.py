"""Records a description of this machine, once per start and in a thread, because GPU drivers may take seconds."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from ipaddress import ip_address
from typing import TYPE_CHECKING

from collectors.machine.gpu_status import read_gpu_status
from domain import Machine, utc_now
from errors import PitwallError
from launcher.checks.provenance import describe_host
from machine.identity import local_addresses, machine_id

if TYPE_CHECKING:  # a launch by ssh only needs the description, and must start quickly
    from storage.store import Store

MOMENTARY_FIELDS = ("memory_used_bytes", "unknown")
LOG = logging.getLogger(__name__)


def record_this_machine(store: Store, url: str | None = None) -> threading.Thread:
    """Write this machine's description to the store in a thread; `url`: the address for other machines."""
    thread = threading.Thread(target=_record, args=(store, url), name="this-machine", daemon=True)
    thread.start()
    return thread


def _record(store: Store, url: str | None) -> None:
    try:
        store.save_machine(replace(this_machine(), url=url)).result()
    except PitwallError as error:  # the store is closed or cannot write; the next start records it
        LOG.warning("the description of this machine was not stored: %s", error)


def this_machine() -> Machine:
    """Return the current description from the system and the GPU driver."""
    host, gpus, own_id = describe_host(), read_gpu_status(), machine_id()
    return Machine(
        id=own_id,
        reported_by=own_id,
        host_name=host["name"],
        addresses=sorted(address for address in local_addresses() if not ip_address(address).is_loopback),
        system=host["system"],
        cpu=host["cpu"],
        cores=host["cores"],
        memory_bytes=host["memory_bytes"],
        gpus=[{name: value for name, value in gpu.items() if name not in MOMENTARY_FIELDS} for gpu in gpus.gpus],
        gpus_reason=gpus.reason,
        driver_version=gpus.driver_version,
        cuda_version=gpus.cuda_version,
        seen_at=utc_now(),
    )
