"""A server is launched on another machine from the Launch page. FAKE: its engine is the stand-in; sshd is real."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.launch_page import choose_no_workload, choose_option, launch_button, paste_launchable
from tests.e2e.pitwall_process import ROOT, Pitwall, wait_until
from tests.launcher.remote.sshd import Box, book_with, needs_sshd, running_box
from tests.launcher.servers import marked
from tests.ports import free_ports

pytestmark = [pytest.mark.browser, pytest.mark.ssh, pytest.mark.long, needs_sshd, pytest.mark.timeout(400)]
WITHIN_S = 120.0
FAKE_VLLM = f"""#!{sys.executable}
# FAKE vLLM: the stand-in, whose log goes where a server's goes.
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.e2e import stand_in
sys.argv[1:] = [sys.argv[sys.argv.index("--port") + 1], "/dev/stdout", "2"]
stand_in.main()
"""


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with running_box(tmp_path / "box") as box:
        box.is_another()
        yield box


@pytest.fixture
def vllm(tmp_path: Path) -> Path:
    program = tmp_path / "vllm"
    program.write_text(FAKE_VLLM)
    program.chmod(0o755)
    return program


@contextmanager
def agent_as_offered(page: Page, pitwall: Pitwall) -> Iterator[subprocess.Popen[bytes]]:
    """The line that the Run page offers, in a shell as a person would paste it."""
    line = page.get_by_test_id("stCode").filter(has_text="agent:write").inner_text()
    env = os.environ | {"PITWALL_DATA": str(pitwall.data)}
    with subprocess.Popen(["bash", "-c", line], cwd=ROOT, env=env, start_new_session=True) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_remote_server_launched_and_stopped(page: Page, pitwall: Pitwall, box: Box, vllm: Path) -> None:
    book_with(pitwall.data / "hosts.json", box.host)
    page.goto(f"{pitwall.url}/launch")
    paste_launchable(page, f"{vllm} serve o/m --port {free_ports(1)[0]}")
    choose_option(page, "On machine", "gpu-box")
    page.get_by_role("button", name="Check gpu-box").click()
    expect(page.get_by_text("gpu-box has everything that the command names.")).to_be_visible()
    choose_no_workload(page)
    launch_button(page).click()
    page.wait_for_url(re.compile("/live"))
    wait_until(lambda: list(pitwall.states().values()) == ["ready"], WITHIN_S)
    counted = "SELECT count(*) FROM engine_samples WHERE source = 'counter'"
    wait_until(lambda: pitwall.sql(counted)[0][0] > 0, WITHIN_S)  # it listens on loopback over there alone
    wait_until(lambda: pitwall.sql("SELECT count(*) FROM engine_samples WHERE source = 'log'")[0][0] > 0, WITHIN_S)
    ((run_id,),) = pitwall.sql("SELECT run_id FROM runs")
    page.goto(f"{pitwall.url}/run?run={run_id}")
    expect(page.get_by_text("started by ssh on gpu-box")).to_be_visible()
    pitwall.terminate(WITHIN_S)
    assert marked(f"ssh-{run_id}"), "its server lives on"
    pitwall.start()
    page.goto(f"{pitwall.url}/run?token={pitwall.token}&run={run_id}")
    with agent_as_offered(page, pitwall) as agent:
        sampled = "SELECT count(*) FROM host_samples WHERE clock_offset_s IS NOT NULL AND cpu_ratio IS NOT NULL"
        wait_until(lambda: pitwall.sql(sampled)[0][0] > 0, WITHIN_S)
        page.reload()
        expect(page.get_by_text("Other machines")).to_be_visible()
        expect(page.get_by_text("start an agent there")).to_have_count(0)
        page.get_by_role("button", name=re.compile("^Stop")).first.click()
        wait_until(lambda: list(pitwall.states().values()) == ["finished"], WITHIN_S)
        assert agent.wait(WITHIN_S) == 0, "it ends with the run"
    assert marked(f"ssh-{run_id}") == []
