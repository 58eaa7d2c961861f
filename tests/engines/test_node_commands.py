"""The command for a server's other machines: the same with another rank, or what joins the cluster."""

from __future__ import annotations

import pytest

from engines import BY_NAME

RAY = "vllm serve m --tensor-parallel-size 2 --distributed-executor-backend ray"
SGLANG = "python -m sglang.launch_server --model m --tp 16 --dist-init-addr 10.0.0.1:5000 --nnodes 2 --node-rank 0"


def commands(engine: str, command: str) -> list[tuple[str, str]]:
    node_commands = BY_NAME[engine].node_commands
    assert node_commands
    return [(place, " ".join(argv)) for place, argv in node_commands(command.split())]


@pytest.mark.parametrize(
    ("engine", "command", "rows"),
    [
        ("sglang", SGLANG, [("on machine 2 of 2", SGLANG.replace("--node-rank 0", "--node-rank 1"))]),
        ("sglang", "python -m sglang.launch_server --model m", []),
        (
            "vllm",
            "vllm serve m -tp 8 --nnodes=3 --node-rank=0 --master-addr 10.0.0.1",
            [
                (f"on machine {rank + 1} of 3",
                 f"vllm serve m -tp 8 --nnodes=3 --headless --master-addr 10.0.0.1 --node-rank {rank}")
                for rank in (1, 2)
            ],
        ),
        (
            "vllm",
            "vllm serve m --nnodes 2",
            [("on machine 2 of 2",
              "vllm serve m --nnodes 2 --headless --master-addr <address of the first machine> --node-rank 1")],
        ),
        (
            "vllm",
            RAY,
            [("on each further machine, before the server starts",
              "ray start --address=<address of the first machine>:6379")],
        ),
        ("vllm", "vllm serve m --tensor-parallel-size 2", []),
        ("vllm", "vllm serve m --nnodes many", []),
    ],
)  # fmt: skip
def test_other_machines_have_their_command(engine: str, command: str, rows: list[tuple[str, str]]) -> None:
    assert commands(engine, command) == rows
