"""Answers of two real llama.cpp servers, measured by the button on Compare: the sentence says how they agree.

The servers run one after the other, as on a machine with one set of GPUs.
"""

from __future__ import annotations

import re
import sys

import pytest
from playwright.sync_api import Page, expect

from demo.model import TINY, model_files
from tests.e2e.launch_page import choose_no_workload, launch_button, paste_launchable
from tests.e2e.page_at_rest import current, press
from tests.e2e.pitwall_process import Pitwall, wait_until
from tests.ports import free_ports

pytestmark = [
    pytest.mark.browser, pytest.mark.engine, pytest.mark.pages, pytest.mark.wide, pytest.mark.timeout(600),
]  # fmt: skip
READY_S, LOAD_S = 120.0, 300.0
POSITIONS = 40 * 8  # the context of these servers has room for one depth
PAIRS = (
    "fidelity a JOIN fidelity b USING (part, text_name, depth_tokens, prefix_tokens, prefix_hash) "
    "WHERE part = 'next token'"
)


def launch(page: Page, pitwall: Pitwall, name: str, kv_type: str) -> str:
    """Launch a server with this type of KV cache; the run's id."""
    target, _ = model_files(pitwall.data, TINY)
    page.goto(f"{pitwall.url}/launch")
    paste_launchable(
        page,
        f"{sys.executable} -m demo serve -m {target} --port {free_ports(1)[0]} -c 2048 -np 1 -t 1 --metrics --slots "
        f"-ctk {kv_type} -ctv {kv_type}",
    )
    choose_no_workload(page)
    current(page.get_by_label("Name", exact=True)).first.fill(name)
    press(launch_button(page))
    page.wait_for_url(re.compile(r"/live\?run="))
    wait_until(lambda: name in pitwall.states(), READY_S)
    ((run_id,),) = pitwall.sql(f"SELECT run_id FROM runs WHERE name = '{name}'")
    return str(run_id)


def measure(page: Page, pitwall: Pitwall, address: str, name: str, run_id: str) -> None:
    """Press the button for the server of this run, and wait until its answers are stored."""
    wait_until(lambda: pitwall.states()[name] == "ready", READY_S)
    page.goto(address)
    press(page.get_by_role("button", name=re.compile(f"^Measure the answers of {name}$")))
    sql = f"SELECT count(*) FROM fidelity WHERE run_id = '{run_id}' AND part = 'next token'"
    wait_until(lambda: pitwall.sql(sql) == [(POSITIONS,)], LOAD_S)
    wait_until(lambda: pitwall.states()[name] == "ready", LOAD_S)


def test_button_measures_the_answers_until_the_sentence_says_them(page: Page, pitwall: Pitwall) -> None:
    names = ("fine", "coarse")
    run_ids = [launch(page, pitwall, name, kv_type) for name, kv_type in zip(names, ("f16", "q4_0"), strict=True)]
    address = f"{pitwall.url}/compare?" + "&".join(f"run={run_id}" for run_id in run_ids)
    measure(page, pitwall, address, "fine", run_ids[0])
    page.goto(f"{pitwall.url}/live?run={run_ids[0]}")
    press(page.get_by_role("button", name="Stop fine"))
    press(page.get_by_role("button", name="Stop it now"))
    wait_until(lambda: pitwall.states()["coarse"] == "ready", READY_S)
    page.goto(address)
    expect(page.get_by_text("another KV cache type").first).to_be_visible()
    measure(page, pitwall, address, "coarse", run_ids[1])
    page.goto(address)
    ((share,),) = pitwall.sql(
        f"SELECT avg((a.token_ids[1] = b.token_ids[1])::INT) FROM {PAIRS} "
        f"AND a.run_id = '{run_ids[0]}' AND b.run_id = '{run_ids[1]}'"
    )
    sentence = page.get_by_text(f"first choice as the first arm's at {100 * share:.1f} % of places").first
    expect(sentence).to_be_visible()
    expect(sentence).to_contain_text("its own was not measured")
    expect(page.get_by_text("another KV cache type")).to_have_count(0)
    expect(page.get_by_text("start it on a running server")).to_have_count(0)
