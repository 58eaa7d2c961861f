"""The Launch page's editor in a real browser: form and command are two views of one configuration."""

from __future__ import annotations

import re
import sys

import pytest
from playwright.sync_api import Page, expect

from demo.model import DEMO, model_files
from tests.e2e.launch_page import (
    choose_no_workload,
    command_box,
    launch_button,
    paste,
    paste_launchable,
    set_repeats,
)
from tests.e2e.page_at_rest import current, fill_until, press, wait_for_rest
from tests.e2e.pitwall_process import Pitwall, wait_until
from tests.ports import free_ports

pytestmark = [pytest.mark.browser, pytest.mark.pages, pytest.mark.engine, pytest.mark.timeout(300)]
SERVE = "vllm serve o/m --port 8000 --max-model-len 16K --trust-remote-code"


def set_field(page: Page, label: str, value: str) -> None:
    box = page.get_by_label(label).first
    box.fill(value)
    box.press("Enter")


def test_form_shows_the_paste_and_writes_command(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/launch")
    paste(page, SERVE)
    expect(page.get_by_label("Context, tokens --max-model-len").first).to_have_value("16384")
    expect(page.get_by_label("Kept as written").first).to_have_value("--trust-remote-code")
    set_field(page, "KV cache type --kv-cache-dtype", "fp8")
    expect(command_box(page)).to_have_value(re.compile(r"--max-model-len 16K.*--kv-cache-dtype fp8", re.DOTALL))
    expect(page.get_by_text("The executable vllm was not found on the PATH: install it")).to_be_visible()
    paste(page, SERVE.replace("16K", "8192"))
    expect(page.get_by_label("Context, tokens --max-model-len").first).to_have_value("8192")
    expect(page.get_by_label("KV cache type --kv-cache-dtype").first).to_have_value("")


def test_paste_is_read_at_once_in_the_native_box(page: Page, pitwall: Pitwall) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{pitwall.url}/launch")
    page.evaluate("text => navigator.clipboard.writeText(text)", SERVE)
    command_box(page).focus()
    page.keyboard.press("Control+V")
    page.keyboard.type("-ever")  # while the page still reads the paste
    expect(page.get_by_label("Context, tokens --max-model-len").first).to_have_value("16384")
    wait_for_rest(page)
    expect(command_box(page)).to_have_value(f"{SERVE}-ever")
    expect(command_box(page)).to_be_focused()
    assert command_box(page).evaluate("box => box.selectionStart === box.value.length"), "where the cursor is"
    undone = [f"{SERVE}-ever"]
    while undone[-1] and len(undone) < 9:  # the browser takes back several letters at once
        page.keyboard.press("Control+Z")
        undone.append(command_box(page).input_value())
    assert SERVE in undone and undone[-1] == "", undone


@pytest.mark.parametrize("size", [(1400, 900), (390, 844)])
def test_launch_stays_in_sight_and_covers_nothing(page: Page, pitwall: Pitwall, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{pitwall.url}/launch")
    empty_height = command_box(page).evaluate("box => box.offsetHeight")
    command_box(page).fill(SERVE)
    press(page.get_by_role("button", name="Read it"))
    expect(page.get_by_label("Context, tokens --max-model-len").first).to_have_value("16384")
    assert command_box(page).evaluate("box => box.offsetHeight") < empty_height
    expect(launch_button(page)).to_be_in_viewport(ratio=1)
    last = page.get_by_text("Other flags" if size[0] < 640 else "Save as preset", exact=True)
    last.scroll_into_view_if_needed()
    page.mouse.move(size[0] / 2, size[1] / 2)
    page.mouse.wheel(0, 100_000)
    expect(launch_button(page)).to_be_in_viewport(ratio=1)
    bar_top = page.locator(".st-key-launch-bar").evaluate("bar => bar.getBoundingClientRect().top")
    page.wait_for_function(
        "([name, top]) => [...document.querySelectorAll('p')].some(p => p.innerText === name && "
        "p.getBoundingClientRect().bottom < top)",
        arg=[last.first.inner_text(), bar_top],
    )


def test_tab_runs_when_open_and_keeps_text(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/launch")
    paste(page, SERVE)
    expect(page.get_by_label("Context, tokens --max-model-len").first).to_have_value("16384")
    wait_for_rest(page)  # what is typed while the page is drawn may be lost, and that is not asked here
    current(page.get_by_label("Name", exact=True)).fill("kept")
    current(page.get_by_label("Name", exact=True)).press("Tab")
    press(page.get_by_role("tab", name="Sweep"))
    expect(
        page.get_by_text("This sweep varies the configuration under Configure and launch: o/m, on this machine.")
    ).to_be_visible()
    press(page.get_by_role("tab", name="Import"))
    expect(page.get_by_test_id("stFileUploaderDropzoneInput")).to_have_count(1)
    expect(page.get_by_text("This sweep varies the configuration under")).to_have_count(0)
    press(page.get_by_role("tab", name="Configure and launch"))
    expect(command_box(page)).to_have_value(SERVE)
    expect(page.get_by_label("Context, tokens --max-model-len").first).to_have_value("16384")
    expect(page.get_by_label("Name", exact=True)).to_have_value("kept")


def test_preset_lists_needs_and_open_values(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/launch?preset=gemma4-31b-b-vllm-fp8-block")
    expect(page.get_by_text("model is required.")).to_be_visible()
    expect(
        page.get_by_text("It needs a GPU (NVIDIA RTX PRO 6000 Blackwell, 96 GB), but there is none here")
    ).to_be_visible()
    launch = launch_button(page)
    expect(launch).to_be_disabled()
    set_field(page, "Model (positional)", "/hf/hub/mine")
    expect(command_box(page)).to_have_value(re.compile(r"v0\.21\.0-ubuntu2404 /hf/hub/mine \\"))
    expect(launch).to_be_enabled()
    row = page.locator(".pw-table tr", has_text="/hf/hub/mine")
    expect(row).to_contain_text("not stated")


def test_presets_saved_and_broken_line_is_named(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/launch")
    paste(page, f"{SERVE} --api-key sk-very-secret-1234567890")
    press(page.get_by_role("button", name="Save as preset"))
    save = page.get_by_role("button", name="Save", exact=True)
    fill_until(page.get_by_label("Name of the preset"), "Mine", save)
    press(save)
    wait_until(lambda: (pitwall.data / "presets/mine.toml").exists(), 60)
    saved = (pitwall.data / "presets/mine.toml").read_text()
    assert "sk-very-secret" not in saved and "max_model_len = 16384" in saved
    (pitwall.data / "presets/broken.toml").write_text('name = "b"\n[config]\nport = "8000"\n')
    page.goto(f"{pitwall.url}/launch?preset=mine")
    expect(command_box(page)).to_have_value(re.compile(r"--max-model-len 16K"))
    expect(page.get_by_text("broken.toml:3: config.port must be a whole number, not '8000'.")).to_be_visible()


def test_secret_in_environment_is_not_in_command(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/launch")
    paste(page, "HF_HOME=/models vllm serve o/m --port 8000")
    current(page.get_by_label("Variables, one per line")).first.fill(
        "HF_HOME=/models\nHF_TOKEN=hf_typed_by_hand_123456"
    )
    current(page.get_by_label("Variables, one per line")).first.press("Control+Enter")
    expect(command_box(page)).to_have_value(re.compile(r'HF_TOKEN="?\$HF_TOKEN'))
    assert "hf_typed_by_hand" not in command_box(page).input_value()
    current(page.get_by_label("Variables, one per line")).first.fill("no variable")
    current(page.get_by_label("Variables, one per line")).first.press("Control+Enter")
    expect(page.get_by_text("is not a NAME=value line")).to_be_visible()


def test_pasted_secret_reaches_server_not_disk(page: Page, pitwall: Pitwall) -> None:
    page.goto(f"{pitwall.url}/launch")
    script = "printenv HF_TOKEN | wc -c; exit 3"
    port = free_ports(1)[0]
    paste_launchable(page, f"HF_TOKEN=hf_pasted_by_hand_123456 /bin/sh -c '{script}' vllm serve o/m --port {port}")
    expect(page.get_by_text("HF_TOKEN: from the command, used for this launch only and not stored")).to_be_visible()
    expect(page.get_by_label("HF_TOKEN (secret, not stored)")).to_have_count(0)
    choose_no_workload(page)
    press(launch_button(page))
    expect(page.locator(".lv-log code", has_text=re.compile(r"^25$"))).to_be_visible()
    paths = [path for path in pitwall.data.rglob("*") if path.is_file() and b"hf_pasted" in path.read_bytes()]
    assert paths == []


@pytest.mark.long
def test_a_run_is_relaunched_with_one_change(page: Page, pitwall: Pitwall) -> None:
    port = free_ports(1)[0]
    page.goto(f"{pitwall.url}/launch")
    model, _ = model_files(pitwall.data / "demo", DEMO)
    paste_launchable(
        page, f"{sys.executable} -m demo serve -m {model} --port {port} -c 4096 -np 1 -t 1 --metrics --slots"
    )
    expect(page.get_by_role("combobox", name="Workload", exact=True)).to_have_value("Demo stream")
    set_repeats(page, 1)
    current(page.get_by_label("Name", exact=True)).first.fill("First")
    press(launch_button(page))
    page.wait_for_url(re.compile(r"/live\?run="))
    first = page.url.split("run=")[1]
    wait_until(lambda: pitwall.states().get("First") in ("ready", "running"), 120)
    page.goto(f"{pitwall.url}/live?run={first}")
    press(page.get_by_role("button", name="Stop First"))
    press(page.get_by_role("button", name="Stop it now"))
    wait_until(lambda: pitwall.states()["First"] == "finished", 60)
    page.goto(f"{pitwall.url}/run?run={first}")
    press(page.get_by_role("button", name="More", exact=True))
    press(page.get_by_role("menuitem", name="Relaunch with one change"))
    expect(launch_button(page)).to_be_enabled()
    expect(page.get_by_role("combobox", name="Workload", exact=True)).to_have_value("Demo stream")
    expect(page.get_by_label("Context, tokens --ctx-size").first).to_have_value("4096")
    set_field(page, "Context, tokens --ctx-size", "2048")
    expect(page.locator(".pw-table tr", has_text="max_model_len")).to_contain_text("2048")
    set_repeats(page, 1)
    press(page.get_by_text("Stop the server when its workload ends"))  # it is looked at as long as that takes
    current(page.get_by_label("Name", exact=True)).first.fill("Second")
    press(launch_button(page))
    page.wait_for_url(re.compile(r"/live\?run="))
    wait_until(lambda: pitwall.states().get("Second") in ("ready", "running"), 120)
    rows = pitwall.sql("SELECT name, max_model_len FROM runs WHERE name IN ('First', 'Second') ORDER BY name")
    assert rows == [("First", 4096), ("Second", 2048)]
    second = page.url.split("run=")[1]
    page.goto(f"{pitwall.url}/launch")
    press(page.get_by_role("tab", name="Watch a running server"))
    current(page.get_by_label("URL of the server")).fill(f"http://localhost:{port}")
    press(current(page.get_by_role("button", name="Watch it")).last)
    expect(page.get_by_text("is already watched as the run 'Second'")).to_be_visible()
    page.goto(f"{pitwall.url}/run?run={second}")
    expect(page.get_by_text("reported by the server")).to_be_visible()
    press(page.get_by_role("button", name="Stop Second"))
    press(page.get_by_role("button", name="Stop it now"))
    wait_until(lambda: pitwall.states()["Second"] == "finished", 60)


@pytest.mark.parametrize("path", ["", "compare"])
def test_published_numbers_are_never_ranked(page: Page, pitwall: Pitwall, path: str) -> None:
    page.goto(f"{pitwall.url}/{path}?published=s000.A&published=s000.D")
    if not path:
        press(page.get_by_text("Published, not measured here"))
    text = page.get_by_role("region", name="table").filter(has_text="109.8 tok/s line 13")
    expect(text).to_be_visible()
    expect(page.get_by_text("no request of full length fits").filter(visible=True).first).to_be_visible()
    for verdict in page.locator(".pw-answer").all_inner_texts():
        assert "NVFP4" not in verdict
