"""Logs and bundles taken in by a Pitwall that runs: from the command line, dropped on the page, and out again."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.page_at_rest import current, downloaded_by, press
from tests.e2e.pitwall_process import ROOT, Pitwall, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.pages]
LOGS = ROOT / "tests/fixtures"


def command(data: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PITWALL_DATA": str(data)}
    return subprocess.run([str(ROOT / "pitwall"), *words], env=env, capture_output=True, text=True)


def test_command_hands_over_to_running_pitwall(pitwall: Pitwall) -> None:
    done = command(pitwall.data, "import", str(LOGS / "vllm/0.32-ngram.log"), str(ROOT / "Makefile"))
    assert "was imported as the run vLLM, lab, ngram k=4" in done.stdout
    assert (done.returncode, done.stderr.count("no line that only a known engine writes")) == (1, 1)
    wait_until(lambda: pitwall.states() == {"vLLM, lab, ngram k=4": "finished"}, 60)
    wait_until(lambda: pitwall.sql("SELECT 1 FROM log_samples WHERE ts_source = 'stamp'"), 60)


def test_dropped_file_is_a_run_and_exports_bundle(page: Page, pitwall: Pitwall, tmp_path: Path) -> None:
    packed = tmp_path / "sglang.log.gz"
    packed.write_bytes(gzip.compress((LOGS / "sglang/0.5.23-cpu.log").read_bytes()))
    page.goto(f"{pitwall.url}/launch")
    press(page.get_by_role("tab", name="Import"))
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(str(packed))
    expect(page.get_by_text("sglang.log.gz")).to_be_visible()
    press(page.get_by_role("button", name="Import", exact=True))
    expect(page.get_by_text("sglang.log.gz was imported as the run SGLang, sglang.log.gz")).to_be_visible()
    press(page.get_by_role("link", name="Open the run"))
    expect(page.get_by_text("From its log alone")).to_be_visible()
    bundle = tmp_path / "from.pitwall.zip"
    press(page.get_by_role("button", name="More", exact=True))
    press(page.get_by_role("menuitem", name="Download as a bundle"))
    downloaded_by(page.get_by_role("button", name="Download as a bundle")).save_as(bundle)
    elsewhere = tmp_path / "elsewhere"
    taken_command = command(elsewhere, "import", str(bundle))
    assert "was verified; imported SGLang, sglang.log.gz" in taken_command.stdout
    assert command(elsewhere, "check").returncode == 0
    assert not list((pitwall.data / "inbox").glob("*.upload"))


def test_results_come_onto_a_run_that_is_named(page: Page, pitwall: Pitwall) -> None:
    captures = ROOT / "tests/captures"
    done = command(pitwall.data, "import", "--json", str(captures / "llama-benchy/result.csv"))
    (run_id,) = json.loads(done.stdout)["run_ids"]
    page.goto(f"{pitwall.url}/launch")
    press(page.get_by_role("tab", name="Import"))
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(str(captures / "sglang_bench/result.jsonl"))
    expect(page.get_by_text("result.jsonl", exact=True)).to_be_visible()
    current(page.get_by_role("textbox", name="Run that results belong to")).fill(run_id)
    press(page.get_by_role("button", name="Import", exact=True))
    expect(
        page.get_by_text("result.jsonl: 31 results, 16 requests, 1 phase of sglang.bench_serving imported into")
    ).to_be_visible()
    loads = f"SELECT count(*) FROM loads WHERE run_id = '{run_id}'"
    wait_until(lambda: pitwall.sql(loads) == [(2,)], 60)
    press(page.get_by_role("link", name="Open the run"))
    expect(page.get_by_text("measured by llama-benchy")).to_be_visible()


def test_a_backup_is_taken_while_it_runs(pitwall: Pitwall, tmp_path: Path) -> None:
    assert command(pitwall.data, "backup", str(tmp_path / "all.zip")).returncode == 0
    assert command(tmp_path / "again", "restore", str(tmp_path / "all.zip")).returncode == 0
    assert command(tmp_path / "again", "check").returncode == 0
