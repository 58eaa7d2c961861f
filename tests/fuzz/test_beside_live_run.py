"""A real Pitwall is given what no honest program writes, beside a live run: every page opens in a real browser, and the
run's samples go on.

`PITWALL_FUZZ_MINUTES=60 PITWALL_FUZZ_SEED=7 .venv/bin/pytest -m slow tests/fuzz/test_beside_live_run.py` tries for
longer, from another seed.
"""

from __future__ import annotations

import json
import os
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page

from collectors.imports.inbox import inbox_folder
from settings import Settings
from studies.submissions import ADDITION, STUDY
from tests.conftest import PATIENCE_MS
from tests.demo_engine import DemoServer
from tests.e2e.conftest import DESKTOP, signed_in
from tests.e2e.launch_page import watch_server
from tests.e2e.page_at_rest import expect_whole, visit
from tests.e2e.pitwall_process import Pitwall, running_pitwall, wait_until
from tests.fuzz.inputs import (
    JSON_FILES,
    LAKE,
    LONGEST_S,
    PRESETS,
    PRICES,
    QUERY,
    OpenFolder,
    damage_report_files,
    honest_bundle,
    import_bundle,
    import_folder,
    import_log,
    import_result,
    put_into_inbox,
    put_submission,
    replace_by_odd_entry,
)
from tests.fuzz.mutations import mutated_bytes, mutated_json, mutated_toml

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.engine, pytest.mark.timeout(4 * 3600)]
MINUTES = float(os.environ.get("PITWALL_FUZZ_MINUTES", "15"))
SEED = int(os.environ.get("PITWALL_FUZZ_SEED", "1"))
LIVE_NAME = "Live beside"
BATCH = 24  # inputs between two looks at the pages
SHOWN_RUNS = 6  # of the imported ones, each on its own page
LONGEST_GAP_S = 15.0  # between two samples of the live run; the browser and the mutations take a busy machine's cores
LEAST_SAMPLES_PER_S = 0.8
MOST_SAID = 20_000  # characters of Pitwall's output, in the report of a failure


# --- inputs of a Pitwall that runs ------------------------------------------------------------------------------------
def submit_study(folder: OpenFolder, random: Random) -> None:
    """An entry of the inbox that looks like a study, or like arms for it; it is taken away or set aside."""
    path = put_submission(folder, random, random.choice((STUDY, ADDITION)))
    wait_until(lambda: not os.path.lexists(path), LONGEST_S)


def edit_file(folder: OpenFolder, random: Random) -> None:
    """A file of the data folder that people edit, at its own place."""
    settings = folder.settings
    places: Mapping[Path, Callable[[], bytes]] = {
        settings.prices_path: lambda: mutated_toml(PRICES, random),
        settings.presets_dir / "mine.toml": lambda: mutated_toml(random.choice(PRESETS).read_bytes(), random),
        settings.lake_path: lambda: mutated_toml(LAKE, random),
        settings.hosts_path: lambda: _mutated_file("hosts.json", random),
        settings.peers_path: lambda: _mutated_file("peers.json", random),
        settings.loads_dir / "mine.json": lambda: _mutated_file("load.json", random),
        settings.query_history_path: lambda: _mutated_file("history.json", random),
        settings.queries_dir / "mine.sql": lambda: mutated_bytes(QUERY, random),
    }
    path = random.choice(sorted(places))
    path.parent.mkdir(mode=0o700, exist_ok=True)
    draft = folder.file(path.name, places[path]())
    if random.random() < 0.1:
        replace_by_odd_entry(draft, random)
    with suppress(IsADirectoryError):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
    draft.rename(path)


def _mutated_file(name: str, random: Random) -> bytes:
    return mutated_json(json.dumps(JSON_FILES[name]).encode(), random)


INPUTS: Sequence[Callable[[OpenFolder, Random], None]] = (
    import_log, import_result, import_folder, import_bundle, put_into_inbox, submit_study, damage_report_files,
    edit_file,
)  # fmt: skip


# --- pages ------------------------------------------------------------------------------------------------------------
def addresses(live_run: str, run_ids: Sequence[str]) -> dict[str, str]:
    """Return address -> a text that its end shows; `run_ids` were imported."""
    together = "&".join(f"run={run_id}" for run_id in [*run_ids[:3], live_run])
    return {
        "": "runs that have ended",
        f"live?{together}": LIVE_NAME,
        "launch": "Command",
        f"compare?{together}": "Configuration differences",
        f"replay?{together}": "",
        "studies": "",
        "explore": "Which runs",
        "issues": "Published",
        "sql?sql=SELECT+name+FROM+runs": "Table macros",
        "shared": "",
        **{f"run?run={run_id}": "What happened" for run_id in [live_run, *run_ids]},
    }


class Looks:
    """Opens pages in one browser window and notes what it reports as an error."""

    def __init__(self, page: Page, pitwall: Pitwall) -> None:
        self._page, self._pitwall = page, pitwall
        self._errors: list[str] = []
        self.count = 0
        page.on("console", self._note)
        page.on("pageerror", lambda error: self._errors.append(str(error)))

    def _note(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._errors.append(f"{message.text} {message.location}")

    def open(self, address: str, end: str) -> None:
        """Require that a page opens without an exception, an error or a line that is too wide."""
        self._errors.clear()
        self.count += 1
        visit(self._page, f"{self._pitwall.url}/{address}")
        main = self._page.get_by_test_id("stMain")
        expect_whole(main.get_by_text(end).filter(visible=True) if end else main)
        exceptions = self._page.locator("[data-testid=stException]")
        texts = exceptions.all_inner_texts()
        width = self._page.evaluate("document.scrollingElement.scrollWidth - innerWidth")
        assert (texts, self._errors, width <= 0) == ([], [], True)


# --- the whole --------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pitwall]:
    with running_pitwall(tmp_path_factory.mktemp("fuzz") / "data") as started:
        yield started


@pytest.fixture
def page(browser: Browser, pitwall: Pitwall) -> Iterator[Page]:
    context = signed_in(browser, pitwall, viewport=DESKTOP)
    context.set_default_timeout(PATIENCE_MS)
    yield context.new_page()
    context.close()


def test_pages_open_and_samples_go_on(
    page: Page, pitwall: Pitwall, demo_server: DemoServer, record_property: Callable[[str, object], None]
) -> None:
    files = pitwall.data.parent / "files"
    files.mkdir()
    settings = Settings(data_dir=pitwall.data)
    folder = OpenFolder(settings=settings, folder=files, bundle=honest_bundle(pitwall.data.parent))
    live_run = watch_server(page, pitwall, demo_server.base_url, LIVE_NAME)
    inbox_folder(settings.data_dir).mkdir(mode=0o700, exist_ok=True)
    random, looks = Random(SEED), Looks(page, pitwall)
    tried, failures = Counter[str](), list[str]()
    end_s = time.monotonic() + 60 * MINUTES
    while time.monotonic() < end_s:
        for _ in range(BATCH):
            give_input(folder, random, tried, failures)
        look_at_pages(folder, looks, live_run, failures)
        assert pitwall.process is not None
        assert pitwall.process.poll() is None, pitwall.said
    wait_until(pitwall.is_up, 60)
    gap_s, per_s = sampling(pitwall, live_run)
    text = (
        f"{tried.total()} inputs {dict(tried)}, {looks.count} pages in {MINUTES:g} minutes; the live run was sampled "
        f"{per_s:.2f} times a second, with a gap of {gap_s:.1f} s at most"
    )
    record_property("told", text)
    failures += ["a traceback of Pitwall"] if "Traceback" in pitwall.said else []
    texts = "\n\n".join([*failures, pitwall.said[-MOST_SAID:]])
    assert not failures, f"{len(failures)} failed; {text}\n\n{texts}"
    assert (gap_s <= LONGEST_GAP_S, per_s >= LEAST_SAMPLES_PER_S) == (True, True), (gap_s, per_s)


def give_input(folder: OpenFolder, random: Random, tried: Counter[str], failures: list[str]) -> None:
    """Try an input of a kind by chance; its seed repeats it."""
    give, seed = random.choice(INPUTS), random.randrange(1 << 30)
    tried[give.__name__] += 1
    try:
        give(folder, Random(seed))
    except Exception:
        failures.append(f"{give.__name__}:{seed}\n{traceback.format_exc()}")


def look_at_pages(folder: OpenFolder, looks: Looks, live_run: str, failures: list[str]) -> None:
    """Open every page with the runs that were imported last."""
    run_ids = list(dict.fromkeys(folder.run_ids))[-SHOWN_RUNS:]
    folder.run_ids.clear()
    for address, end in addresses(live_run, run_ids).items():
        try:
            looks.open(address, end)
        except Exception:
            failures.append(f"{address}\n{traceback.format_exc()}")


def sampling(pitwall: Pitwall, run_id: str) -> tuple[float, float]:
    """Return the longest gap between two samples of a run's counters, in s, and how many there are a second."""
    rows = pitwall.sql(f"SELECT epoch(ts) FROM counter_samples WHERE run_id = '{run_id}' ORDER BY ts")
    times_s = [float(time_s) for (time_s,) in rows]
    gaps_s = [later - earlier for earlier, later in pairwise(times_s)]
    return max(gaps_s), len(gaps_s) / (times_s[-1] - times_s[0])
