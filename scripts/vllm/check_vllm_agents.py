"""`make test-vllm`: a scripted agent in front of a real vLLM; see scripts/tools/agent_demands.py.

Prints a table, exits 1 if a demand is not met.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from scripts.tools.agent_demands import CONTEXT_TOKENS, AgentServer, demands
from scripts.tools.tool_demands import table
from scripts.vllm.check_vllm_loads import serving


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vllm", type=Path, help="the environment that scripts/install_vllm.sh made")
    parser.add_argument("model", type=Path, help="the folder that scripts/vllm/make_tiny_llama.py wrote")
    flags = parser.parse_args()
    vllm, model = flags.vllm.absolute(), flags.model.absolute()
    server = AgentServer(
        "vllm",
        lambda folder, template: serving(vllm, model, folder, CONTEXT_TOKENS, template),
        "vllm:prefix_cache_hits_total",
    )
    with tempfile.TemporaryDirectory() as scratch:
        rows = [[*demand[:3], "yes" if demand.is_met else "NO"] for demand in demands(server, Path(scratch))]
    print(table(["load", "demand", "seen", "met"], rows))
    return int(any(row[-1] == "NO" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
