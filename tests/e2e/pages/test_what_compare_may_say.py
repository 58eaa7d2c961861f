"""Compare of what has no single ranked number: kinds of prompts, a starved server, logs whose owner nobody asked."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from collectors.imports.log_import import ImportOptions, LogImporter
from samples import Batch
from settings import Settings
from storage.store import Store
from tests.analysis.comparison.ideal_engine import IdealEngine, repeats
from tests.analysis.comparison.stored.test_store_to_answer import stored
from tests.analysis.comparison.stored.test_stored_machine import SECONDS, host, two_arms
from tests.e2e.page_at_rest import expect_whole, visit
from tests.e2e.pitwall_process import ROOT, Pitwall, running_pitwall
from tests.e2e.seeds import BEGAN

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.timeout(900)]
LOGS = ROOT / "tests/fixtures"
VLLM_LOG, SGLANG_LOG = LOGS / "vllm/0.32-ngram.log", LOGS / "sglang/0.5.23-cpu.log"
ENDS = {"End of a log": 6, "End of another": 4}  # name -> lines that say its speed: nothing of how it was started
APART_H = 500.0  # from the other runs of the store
Ids = dict[str, list[str]]


@pytest.fixture(scope="module")
def ids() -> Ids:
    return {}


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory, ids: Ids) -> Iterator[Pitwall]:
    """Up, with arms whose drafts suit one kind of prompt, arms of which one was starved, and logs."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("pitwall") / "data")
    store = Store.open(settings)
    ids["kinds"], ids["starved"] = arms_of_kinds(store), starved_arm(store)
    take = LogImporter(store, settings.runs_dir, lambda: BEGAN).import_log
    for name, log in (("vLLM's log", VLLM_LOG), ("SGLang's log", SGLANG_LOG)):
        ids.setdefault("logs", []).extend(take(log, ImportOptions(name), lambda share: None).run_ids)
    actual_lines = [line for line in VLLM_LOG.read_text().splitlines() if "Engine 000: Avg" in line]
    for name, lines in ENDS.items():
        end = settings.data_dir / f"{lines}.log"
        end.write_text("\n".join(actual_lines[-lines:]) + "\n")
        ids.setdefault("ends", []).extend(take(end, ImportOptions(name), lambda share: None).run_ids)
    store.close()
    with running_pitwall(settings.data_dir) as pitwall:
        yield pitwall


def arms_of_kinds(store: Store) -> list[str]:
    """Three starts each, plain and with drafts that are nearly all accepted of code, and hardly any of questions."""
    rng, made = np.random.default_rng(21), []
    for place, (k, step_s) in enumerate({0: 0.02, 3: 0.03}.items()):
        engine = IdealEngine(step_s, k, {"Code": 0.95, "Q&A": 0.1}, start_sd=0.005)
        runs = repeats(engine, "five-prompts", 3, rng, token_scale=0.1, parallel=2)
        made += [stored(store, run, k, APART_H + 24 * (3 * place + n)).id for n, run in enumerate(runs)]
    return made


def starved_arm(store: Store) -> list[str]:
    """Two starts each, plain and with drafts; those with drafts had a CPU in a seventh of the time they wanted one."""
    plain, drafting = two_arms(store)
    for run in (*plain, *drafting):
        waited, others = (0.86, 7.5) if run in drafting else (0.01, 0.1)
        store.write(Batch(tuple(host(run.id, n, waited, others) for n in range(SECONDS)))).result()
    return [run.id for run in (*plain, *drafting)]


def open_compare(page: Page, pitwall: Pitwall, run_ids: list[str]) -> None:
    visit(page, f"{pitwall.url}/compare?{'&'.join(f'run={run_id}' for run_id in run_ids)}")
    expect_whole(page.get_by_role("heading", name="Configuration differences"))


def test_each_kind_of_prompt_has_its_own_ratio(open_page: Page, pitwall: Pitwall, ids: Ids) -> None:
    open_compare(open_page, pitwall, ids["kinds"])
    kinds = open_page.get_by_role("table").filter(has_text="Kind of prompt")
    for kind, ratio in {"Code": r"2\.\d\d×", "Q&A": r"0\.\d\d×"}.items():
        row = kinds.get_by_role("row").filter(has=open_page.get_by_role("rowheader", name=kind, exact=True))
        expect(row).to_have_text(re.compile(ratio))


def test_starved_server_is_not_ranked_with_reason(open_page: Page, pitwall: Pitwall, ids: Ids) -> None:
    open_compare(open_page, pitwall, ids["starved"])
    row = open_page.locator(".pw-guard > ul > li").filter(has_text="CPU starvation")
    expect(row).to_contain_text(re.compile("not comparable.*86 %"))
    expect(open_page.locator(".pw-say")).to_contain_text("not ranked")
    expect(open_page.locator(".pw-say")).not_to_contain_text("as fast as")


def test_logs_of_unknown_config_are_not_the_same(open_page: Page, pitwall: Pitwall, ids: Ids) -> None:
    open_compare(open_page, pitwall, ids["ends"])
    names = " and ".join(f"vLLM, {name}" for name in ENDS)
    expect(open_page.get_by_text(f"Not known: the configuration of {names}.")).to_be_visible()
    expect(open_page.get_by_text("the same configuration")).to_have_count(0)


def test_log_speed_stands_apart(open_page: Page, pitwall: Pitwall, ids: Ids) -> None:
    open_compare(open_page, pitwall, ids["logs"])
    for definition, speed in {"vllm.log": "1,583", "sglang.log": "43.7"}.items():
        title = open_page.get_by_role("rowheader", name=f"Log only (not ranked) ({definition})")
        row = open_page.get_by_role("row").filter(has=title)
        expect(row.locator(".pw-apart")).to_have_text([re.compile(rf"^{speed}\s+tok/s$")])
        expect(row).not_to_contain_text("×")
