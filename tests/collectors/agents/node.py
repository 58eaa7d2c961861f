"""An agent as `./pitwall agent` starts it, on a LABELLED STAND-IN for another machine: of another name, with two GPUs
whose readings are typed in. Its first argument is the machine's name; the rest are the command's own;
`STAND_IN_EVERY_S` has it look more often."""

from __future__ import annotations

import os
import sys

import collectors.agents.agent
from cli.machines import agent
from cli.main import parser
from cli.secret_input import read_token
from collectors.agents.agent import NodeSampler
from collectors.base import Clock
from collectors.machine.gpu import Capabilities, GpuReading


class StandInGpus:
    """Two GPUs that count their energy; no hardware."""

    def __init__(self) -> None:
        self._looks = 0

    def probe(self) -> Capabilities:
        return Capabilities(None, None, [])

    def sample(self) -> list[GpuReading]:
        self._looks += 1
        fields = {
            "gpu_name": "STAND-IN",
            "power_w": 250.0,
            "energy_j_total": 250.0 * self._looks,
            "sm_clock_mhz": 1500.0,
        }
        return [GpuReading(index, {"gpu_uuid": f"GPU-{sys.argv[1]}-{index}"} | fields, {}) for index in range(2)]

    def close(self) -> None: ...


def main() -> int:
    collectors.agents.agent.SAMPLE_EVERY_S = float(os.environ.get("STAND_IN_EVERY_S", "1"))
    arguments = parser().parse_args(["agent", *sys.argv[2:]])
    token = read_token(arguments.token_file, agent.TOKEN_VARIABLE)
    here = agent.make_local_run(arguments.run_id, None, None).model_copy(update={"machine_id": sys.argv[1]})
    return agent.send_samples(arguments, token, here, NodeSampler(here, StandInGpus(), Clock(), agent.say))


if __name__ == "__main__":
    sys.exit(main())
