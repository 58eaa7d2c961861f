"""The Run page's log: its end at first, and every other place of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from collectors.logs.log_view import NO_MARK, ViewLine
from web.live.log_reads import LogReads
from web.runs.page.server_log import lines_around

LINES = 2_000
SCRIPT = """
from datetime import UTC, datetime
from domain import Config, Run
from web.runs.page.server_log import server_log
from web.url_presses import restore_url_press

restore_url_press()
about = dict(name="r", color=0, machine_id="m", created_at=datetime.now(UTC), config=Config())
server_log(Run(id="{name}", log_path="{log}", **about))
"""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is full may take longer than the page waits for a log."""
    monkeypatch.setattr("web.runs.page.server_log._LOGS", LogReads(limit=400, wait_s=60.0))


def shown_lines(page: AppTest) -> tuple[int, int]:
    """The first and the last number of the shown lines."""
    numbers = [int(text.split("<")[0]) for text in page.get("html")[0].proto.body.split("line ")[1:]]
    return numbers[0], numbers[-1]


def page_of(log: Path, place: str | None = None) -> AppTest:
    page = AppTest.from_string(SCRIPT.format(name=log.parent.name, log=log), default_timeout=60)
    if place is not None:
        page.query_params["log"] = place
    return page.run()


def test_log_opens_at_end_and_reaches_any_place(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("".join(f"line {number}\n" for number in range(LINES)))
    page = page_of(log)
    assert shown_lines(page) == (LINES - 400, LINES - 1)
    page.button(key=key_of(tmp_path, "Beginning")).click().run()
    assert shown_lines(page) == (0, 399)
    page.button(key=key_of(tmp_path, "Later")).click().run()
    assert shown_lines(page) == (400, 799)
    page.button(key=key_of(tmp_path, "Earlier")).click().run()
    assert shown_lines(page)[0] == 0
    page.slider[0].set_value(50).run()
    assert 700 < shown_lines(page)[0] < 900
    page.button(key=key_of(tmp_path, "End")).click().run()
    assert shown_lines(page) == (LINES - 400, LINES - 1)


def test_the_address_keeps_the_place(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("".join(f"line {number}\n" for number in range(LINES)))
    page = page_of(log)
    assert "log" not in page.query_params
    page.button(key=key_of(tmp_path, "Beginning")).click().run()
    page.button(key=key_of(tmp_path, "Later")).click().run()
    text = "".join(page.query_params["log"])
    assert shown_lines(page_of(log, text)) == shown_lines(page) == (400, 799)
    page.button(key=key_of(tmp_path, "End")).click().run()
    assert "log" not in page.query_params
    for nonsense in ("", "-1", "1e3", "x", "\u0663", "9" * 5_000):
        assert shown_lines(page_of(log, nonsense)) == (LINES - 400, LINES - 1), nonsense
    assert shown_lines(page_of(log, "9" * 15))[1] == LINES - 1


def test_a_replaced_slider_moves_nothing(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("".join(f"line {number}\n" for number in range(LINES)))
    page = page_of(log)
    page.query_params["log"] = "0"  # the page has moved, and a slow browser still sends the slider of the end
    page.slider[0].set_value(50).run()
    assert shown_lines(page) == (0, 399)


def test_a_press_outlives_a_rerun_with_the_url_from_before_it(tmp_path: Path) -> None:
    """Streamlit runs both at once; the messages of the press, its URL among them, may be lost."""
    log = tmp_path / "server.log"
    log.write_text("".join(f"line {number}\n" for number in range(LINES)))
    page = page_of(log, "0")
    page.button(key=key_of(tmp_path, "Later")).click().run()
    later = page.query_params["log"]
    page.query_params["log"] = "0"
    assert shown_lines(page.run()) == (400, 799)
    assert page.query_params["log"] == later
    page.run()  # the browser has the new URL
    page.query_params["log"] = "0"
    assert shown_lines(page.run()) == (0, 399)


def test_a_press_is_forgotten_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "server.log"
    log.write_text("".join(f"line {number}\n" for number in range(LINES)))
    page = page_of(log)
    page.button(key=key_of(tmp_path, "Beginning")).click().run()
    del page.query_params["log"]
    assert shown_lines(page.run()) == (0, 399)
    monkeypatch.setattr("web.url_presses.PRESS_LASTS_S", 0.0)
    del page.query_params["log"]  # a link leads back to the run, to the end of its log
    assert shown_lines(page.run()) == (LINES - 400, LINES - 1)


def key_of(folder: Path, label: str) -> str:
    return f"log-since-{folder.name}-{label}"


def test_a_short_log_needs_no_ways(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("line 0\n")
    page = page_of(log)
    assert shown_lines(page) == (0, 0) and not page.button and not page.slider


def test_a_log_that_is_gone_is_told(tmp_path: Path) -> None:
    assert "empty or gone" in page_of(tmp_path / "server.log").info[0].value


def test_excerpt_is_around_the_last_line_of_the_cause() -> None:
    lines = [view_line(number, "no memory" if number in (3, 30) else f"line {number}") for number in range(60)]
    excerpt = lines_around(lines, " no memory ")
    assert [line["text"] for line in excerpt] == [line["text"] for line in lines[22:39]]
    assert [line["at"] for line in excerpt if line["kind"] == "failure"] == [30]
    assert [line["at"] for line in lines_around(lines[:2] + lines[30:32], "no memory")] == [0, 1, 30, 31]
    assert lines_around(lines, "it is gone") == lines_around(lines, None) == lines_around([], "no memory") == []


def view_line(at: int, text: str) -> ViewLine:
    return {**NO_MARK, "at": at, "text": text}
