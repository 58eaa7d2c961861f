"""List of the collectors that Pitwall runs on this machine."""

from __future__ import annotations

from collections.abc import Callable

from collectors.base import Clock, Collector, Positions
from collectors.endpoints.endpoint import EndpointCollector
from collectors.logs.log_collector import log_collector
from collectors.logs.requests import request_collector
from collectors.machine.gpu import GpuCollector
from collectors.machine.host import HostCollector
from collectors.machine.nvml import NvmlProvider
from collectors.machine.processes import ProcessTable


def standard_collectors(
    machine_id: str,
    positions: Positions,
    api_key_of: Callable[[str], str | None] = lambda run_id: None,
    clock: Clock | None = None,
) -> list[Collector]:
    """Return all collectors. They have a module of their own because `./pitwall gpus` imports only a few."""
    table = ProcessTable()
    return [
        EndpointCollector(api_key_of=api_key_of, clock=clock),
        log_collector(positions, clock),
        request_collector(positions, clock),
        HostCollector(machine_id, table, clock),
        GpuCollector(machine_id, NvmlProvider(), table, clock=clock),
    ]
