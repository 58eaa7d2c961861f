"""The load of a run on its pages: how far it is, paused, gone on with and cancelled, and what it leaves is valid."""

from __future__ import annotations

import re
import shlex

import pytest
from playwright.sync_api import Page, expect

from demo.presets import demo_configs
from launcher.runs.supervisor import LOAD_CANCELLED
from tests.e2e.launch_page import launch_button, paste_launchable, set_repeats
from tests.e2e.page_at_rest import current, press
from tests.e2e.pitwall_process import Pitwall, wait_until
from workloads.job import LoadProgress
from workloads.process.prepare import PROGRESS_FILE

pytestmark = [pytest.mark.browser, pytest.mark.engine, pytest.mark.long, pytest.mark.timeout(600)]
MEASURED = "SELECT count(*) FROM requests WHERE error_kind IS NULL AND completion_tokens = 1000"
FAILED = "SELECT error_kind FROM requests WHERE error_kind IS NOT NULL"


def test_load_is_paused_resumed_and_cancelled(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/launch")
    paste_launchable(page, shlex.join(demo_configs(pitwall.data)[0].argv))
    set_repeats(page, 1)
    press(launch_button(page))
    page.wait_for_url(re.compile("/live"))
    press(page.get_by_role("button", name=re.compile(r"^Load: \d of 9 requests")))
    expect(page.get_by_text(re.compile(r"Demo stream, .+: \d of 9 requests, about .+ to go"))).to_be_visible()

    press(page.get_by_role("button", name=re.compile("Pause the load of")))
    expect(page.get_by_text("paused: no requests are sent")).to_be_visible()
    paused = progress(pitwall)
    assert paused.state == "paused"

    live = page.context.new_page()
    live.goto(f"{pitwall.url}/live?run={run_id(pitwall)}")
    press(live.get_by_role("button", name="Share", exact=True))
    current(live.get_by_label("For whom")).fill("Ana")
    page.goto(f"{pitwall.url}/run?run={run_id(pitwall)}")
    expect(page.get_by_role("button", name=re.compile("Cancel the load of"))).to_be_visible()
    press(page.get_by_role("button", name=re.compile("Resume the load of")))
    wait_until(lambda: progress(pitwall).done >= paused.done + 2, 120)  # one was under way
    done = progress(pitwall).done
    wait_until(lambda: progress(pitwall).done > done, 120)  # the next one has just been sent, and takes seconds
    press(page.get_by_role("button", name=re.compile("Cancel the load of")))
    wait_until(lambda: set(pitwall.states().values()) == {"finished"}, 60)
    assert pitwall.sql("SELECT note, cause, exit_code FROM runs") == [(LOAD_CANCELLED, None, 0)]
    (measured,) = pitwall.sql(MEASURED)
    assert 2 <= measured[0] < 8
    wait_until(lambda: pitwall.sql(FAILED) == [("cancelled",)], 60)
    assert pitwall.sql("SELECT 1 FROM engine_samples WHERE decode_tps > 0 AND activity = 'active' LIMIT 1")
    expect(page.get_by_text(LOAD_CANCELLED).first).to_be_visible()
    expect(page.get_by_text("to go")).to_have_count(0)
    expect(live.get_by_label("For whom")).to_have_value("Ana")
    live.keyboard.press("Escape")
    expect(live.get_by_role("button", name=re.compile("^Stop "))).to_have_count(0)


def run_id(pitwall: Pitwall) -> str:
    ((known,),) = pitwall.sql("SELECT run_id FROM runs")
    return str(known)


def progress(pitwall: Pitwall) -> LoadProgress:
    path = pitwall.data / "runs" / run_id(pitwall) / "workload" / PROGRESS_FILE
    return LoadProgress.model_validate_json(path.read_bytes())
