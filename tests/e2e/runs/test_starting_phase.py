"""The phase of a start, and where it got stuck. FAKE: a script that writes vLLM's lines, for vLLM needs a GPU."""

from __future__ import annotations

import re
import stat
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.launch_page import choose_no_workload, launch_button, paste_launchable
from tests.e2e.page_at_rest import press
from tests.e2e.pitwall_process import Pitwall, wait_until
from tests.ports import free_ports

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.timeout(400)]
NO_PROGRESS_S = 30
FAKE_VLLM = f"""#!{sys.executable}
# FAKE vLLM: its start-up lines and bars as a terminal-less tqdm writes them, then nothing for ever.
import pathlib, sys, time
core = "(EngineCore_DP0 pid=4711) "
def say(text):
    sys.stderr.write(text)
    sys.stderr.flush()
say(core + "INFO 11-21 01:00:00 [gpu_model_runner.py:2602] Starting to load model o/m...\\n")
for shard, percent in enumerate((0, 34)):
    say(f"\\rLoading safetensors checkpoint shards: {{percent:3d}}% Completed | {{shard}}/3 [00:0{{shard}}<00:09]")
while not pathlib.Path(sys.argv[0]).with_name("go").exists():
    time.sleep(0.1)
say("\\rLoading safetensors checkpoint shards: 100% Completed | 3/3 [00:09<00:00]\\n")
say(core + "INFO 11-21 01:00:09 [backends.py:548] Dynamo bytecode transform time: 4.76 s\\n")
say("\\rCapturing CUDA graphs (mixed prefill-decode, PIECEWISE):  51%|#####     | 26/51 [00:01<00:01]")
time.sleep(600)
"""


def test_phase_shows_percentage_and_names_a_stall(page: Page, pitwall: Pitwall, tmp_path: Path) -> None:
    program = tmp_path / "vllm"
    program.write_text(FAKE_VLLM)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    page.goto(f"{pitwall.url}/launch")
    paste_launchable(page, f"{program} serve o/m --port {free_ports(1)[0]}")
    choose_no_workload(page)
    patience = page.get_by_label("Startup timeout without progress, s")
    expect(patience).to_have_count(1)  # the one that the page has just replaced is gone
    patience.fill(str(NO_PROGRESS_S))
    press(launch_button(page))
    page.wait_for_url(re.compile("/live"))
    expect(page.get_by_text(re.compile("loading weights 34 %")).first).to_be_visible()
    (tmp_path / "go").touch()
    expect(page.get_by_text(re.compile("capturing graphs 51 %")).first).to_be_visible()
    wait_until(lambda: list(pitwall.states().values()) == ["failed"], 4 * NO_PROGRESS_S)
    ((cause,),) = pitwall.sql("SELECT cause FROM runs")
    assert f"no progress for {NO_PROGRESS_S} s while capturing graphs 51 %" in cause
    texts = [text for (text,) in pitwall.sql("SELECT text FROM events ORDER BY ts")]
    steps = ["loading weights", "loading weights 34 %", "loading weights 100 %", "compiling", "capturing graphs 51 %"]
    assert set(steps) <= set(texts)
