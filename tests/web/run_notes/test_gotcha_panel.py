"""Gotchas on the pages: kept with a run, offered at a failure of the same cause and at a command with the same flag."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from domain import Config, Run, RunState
from notes import Gotcha
from settings import Settings
from storage.queries.note_queries import gotchas
from storage.store import Store
from tests.web.conftest import ProvideServices
from web.launch.draft import LaunchDraft

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
CAUSE = "The KV cache has room for 4,000 tokens, fewer than 32768"
SECRET = "hf_abcdefghijklmnopqrstuvwx"
FRESH: dict[str, Any] = {"engine": "vllm", "failure": "It does not fit", "workaround": "Set **--max-model-len**"}
CAUSED = """
from web.context import services
from web.runs.page.run_page import cause
cause(services().store.run("{}"))
"""
FORM = """
from notes import Gotcha
from storage.queries.note_queries import gotchas
from web.context import services
from web.run_notes.gotcha_panel import edit_form
fresh = Gotcha(id="g", engine="vllm", cause="{}", failure="-", workaround="-", run_id="r1")
edit_form(next(iter(gotchas(services().store)), fresh), ["--enforce-eager"])
"""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices) -> Iterator[Store]:
    settings = Settings(data_dir=tmp_path / "data")
    opened = Store.open(settings)
    for run_id, cause in (("r1", CAUSE), ("r2", CAUSE.replace("4,000", "9,999")), ("r3", "The port is taken")):
        config = Config(engine="vllm", argv=("vllm", "serve", "m", "--enforce-eager"))
        opened.save_run(
            Run(
                id=run_id, name=run_id, color=0, machine_id="m", created_at=NOW, config=config, state=RunState.FAILED,
                cause=cause,
            )
        )  # fmt: skip
    provide_services(SimpleNamespace(store=opened, settings=settings))
    be(monkeypatch, "operator")
    monkeypatch.setattr("streamlit.page_link", lambda *_, **__: None)  # this stands here without the app's other pages
    yield opened
    opened.close()


def be(monkeypatch: pytest.MonkeyPatch, role: str) -> None:
    for room in ("web.actions", "web.access.roles"):
        monkeypatch.setattr(f"{room}.current_role", lambda: role)


def page(script: str) -> AppTest:
    at = AppTest.from_string(script, default_timeout=60).run()
    assert not at.exception
    return at


def html_text(at: AppTest) -> str:
    return " ".join(str(element.proto.body) for element in at.get("html"))


def fill(at: AppTest, link: str = "") -> AppTest:
    at.text_input[0].set_value("It does not fit")
    at.text_area[0].set_value(f"Set it, not HF_TOKEN={SECRET}")
    at.text_input[1].set_value(link)
    at.button[0].click().run()
    assert not at.exception
    return at


def test_gotcha_is_offered_for_the_same_cause(store: Store) -> None:
    store.gotchas.save(Gotcha(id="g", cause=CAUSE, link="https://example.org/1", **FRESH), "operator")
    for run_id in ("r1", "r2"):
        words = html_text(page(CAUSED.format(run_id)))
        assert "It does not fit" in words and "<strong>--max-model-len</strong>" in words
        assert 'href="https://example.org/1"' in words
    assert "It does not fit" not in html_text(page(CAUSED.format("r3")))


def test_a_guest_reads_it_and_cannot_change_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.gotchas.save(Gotcha(id="g", cause=CAUSE, **FRESH), "operator")
    be(monkeypatch, "guest")
    at = page(CAUSED.format("r1"))
    assert "It does not fit" in html_text(at) and not at.button


def test_gotcha_stands_on_its_own_run(store: Store) -> None:
    store.gotchas.save(Gotcha(id="g", flag="--not-of-this-command", run_id="r3", **FRESH), "operator")
    ended_well = store.run("r2")
    assert ended_well
    store.save_run(ended_well.model_copy(update={"state": RunState.FINISHED, "cause": None}))
    shown_on = [run_id for run_id in ("r1", "r2", "r3") if "It does not fit" in html_text(page(CAUSED.format(run_id)))]
    store.gotchas.save(Gotcha(id="g", flag="--not-of-this-command", run_id="r2", **FRESH), "operator")
    assert shown_on == ["r3"] and "It does not fit" in html_text(page(CAUSED.format("r2"))), "failed or not"


def test_the_form_keeps_changes_and_withdraws(store: Store) -> None:
    fill(page(FORM.format(CAUSE)))
    (gotcha,) = gotchas(store)
    assert (gotcha.version, gotcha.cause, gotcha.flag, gotcha.run_id) == (1, CAUSE, None, "r1")
    assert SECRET not in str(store.query("FROM raw.gotchas").to_pylist())
    at = page(FORM.format(CAUSE))
    at.text_area[0].set_value("Better")
    at.button[0].click().run()
    assert [(gotcha.version, gotcha.workaround) for gotcha in gotchas(store)] == [(2, "Better")]
    at = page(FORM.format(CAUSE))
    at.button[1].click().run()
    assert gotchas(store) == [] and store.query("FROM raw.gotchas").num_rows == 3, "every version stays"
    store.record([]).result()
    assert [entry.action for entry in store.audit(9)].count("gotcha") == 2


@pytest.mark.parametrize("link", ["javascript:alert(1)", "example.org", "https://"])
def test_a_link_is_of_the_web(store: Store, link: str) -> None:
    at = fill(page(FORM.format(CAUSE)), link)
    assert at.error and gotchas(store) == []


def test_about_nothing_it_is_not_kept(store: Store) -> None:
    with pytest.raises(ValueError, match="cause or a flag"):
        store.gotchas.save(Gotcha(id="g", **FRESH), "operator")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("vllm", "serve", "m", "--enforce-eager"), "It does not fit"),
        (("vllm", "serve", "m", "--quantization", "modelopt"), "as published in"),
        (("vllm", "serve", "m"), ""),
    ],
)
def test_launch_offers_it_for_a_flag(
    store: Store, monkeypatch: pytest.MonkeyPatch, argv: tuple[str, ...], words: str
) -> None:
    store.gotchas.save(Gotcha(id="g", flag="--enforce-eager", **FRESH), "operator")
    edited = LaunchDraft(config=Config(engine="vllm", argv=argv))
    monkeypatch.setattr("web.launch.draft.current", lambda: edited)
    at = page("from web.launch.command_gotchas import command_gotchas\ncommand_gotchas()")
    text = (html_text(at) + " ".join(info.value for info in at.info)).replace("\\", "")
    assert words in text and bool(text) is bool(words)
    assert not at.info or "line " in text, "with its source and line"
