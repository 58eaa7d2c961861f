"""Listings of processes: the command is read from its line, and only the other lines are left out."""

from __future__ import annotations

import pytest

from commands.explain import explain

SERVER = "/opt/v/bin/python /opt/v/bin/vllm serve /m/a --port 8000 --speculative-config "
TREE = f"""● llm.service - model server
   Main PID: 4101 (vllm)
     CGroup: /system.slice/llm.service
             ├─4101 {SERVER}"{{\\"method\\":\\"mtp\\",\\"num_speculative_tokens\\":5}}"
             └─4188 /opt/v/bin/python -c "from multiprocessing.resource_tracker import main;main(70)"
"""
TABLE = f"""USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND
llm 4101 99.0 2.0 1 1 ? Sl 09:12 8:01 {SERVER}{{"method": "mtp", "num_speculative_tokens": 5}} --max-num-seqs 4
llm 4188 0.0 0.0 1 1 ? S 09:12 0:00 /opt/v/bin/python -c from multiprocessing.resource_tracker import main;main(70)
"""


@pytest.mark.parametrize("listing", [TREE, TABLE], ids=["systemctl status", "ps aux"])
def test_the_line_that_was_read_is_not_left_out(listing: str) -> None:
    explanation = explain(listing)
    assert explanation.config and explanation.config.speculative and explanation.refused is None
    assert (explanation.config.model, explanation.config.port, explanation.config.speculative.num_tokens) == (
        "/m/a",
        8000,
        5,
    )
    assert not any("vllm serve" in text for text in explanation.left_out)
    assert any("resource_tracker" in text for text in explanation.left_out)
