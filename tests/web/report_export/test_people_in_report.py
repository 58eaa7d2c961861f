"""Notes of people stand in the report of their run: as Markdown where that is read, and harmless everywhere."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from domain import Run, RunState
from notes import Gotcha
from redaction import KnownSecrets
from storage.store import Store
from tests.web.report_export.conftest import EVIL, SECRET, Report
from web.report_export.markdown import report_markdown
from web.report_export.note_markdown import safe_markdown
from web.report_export.page import report_page
from web.report_export.tables import data_tables
from web.safe_markdown import safe_html

pytestmark = pytest.mark.wide

NOTE = """Held **all day** under *real* use, see [the post](https://example.org/a_b?x=1).

1. first
   - `--flag a|b` with `code`
2. second

> quoted

| k | tok/s |
|---|---|
| 4 | 1 < 2 |

```
a <b> c
```
"""
READER = MarkdownIt("commonmark", {"html": True, "breaks": True}).enable("table")  # as a forge reads it


def every(tokens: list[Token]) -> list[Token]:
    return [one for token in tokens for one in (token, *every(token.children or []))]


def say(store: Store, run: Run, **said: object) -> None:
    store.notes.change([run.id], "operator", lambda note: note.model_copy(update=said))


def gotcha(store: Store, run: Run, **said: object) -> None:
    fields = {"id": "g1", "engine": "vllm", "cause": "CUDA out of memory", "failure": "no room", "workaround": "*less*"}
    store.gotchas.save(Gotcha.model_validate(fields | {"run_id": run.id} | said), "operator")


def test_every_file_has_notes_verdict_and_tags(store: Store, runs: list[Run], report: Report) -> None:
    say(store, runs[0], text=NOTE, tags=("nightly", "for #12"), coding=4, impression="fast")
    gotcha(store, runs[1], flag="--x", link="https://example.org/why")
    data = report(runs)
    page, text = report_page(data), report_markdown(data)
    assert safe_html(NOTE) in page and "Coding <b>4</b>/5" in page and "#nightly" in page and "“fast”" in page
    assert "Known issue: no room" in page and "<em>less</em>" in page and 'href="https://example.org/why"' in page
    assert "> Held **all day** under *real* use, see [the post](<https://example.org/a_b?x=1>)." in text
    assert "Tags: nightly, for #<!-- -->12" in text and "Coding 4/5 · “fast”" in text
    assert "**Known issue: no room**" in text and "> *less*" in text and "[more](<https://example.org/why>)" in text
    rows = {data_table.name: data_table.rows.to_pylist() for data_table in data_tables(data)}
    assert [(row["run_id"], row["note"], row["coding"]) for row in rows["notes"]] == [(runs[0].id, NOTE, 4)]
    assert [(row["run_id"], row["failure"]) for row in rows["gotchas"]] == [(runs[1].id, "no room")]
    assert '<h2 id="notes">' in page and '<h2 id="notes">' not in report_page(report(runs[2:3]))
    assert "## Notes" not in report_markdown(report(runs[2:3]))


def test_gotcha_belongs_to_its_failures(store: Store, runs: list[Run], report: Report) -> None:
    failed = runs[2].model_copy(update={"state": RunState.FAILED, "cause": "CUDA out of memory"})
    store.save_run(failed)
    gotcha(store, runs[1])
    assert report_markdown(report([runs[1], failed])).count("**Known issue: no room**") == 1
    assert "Known issue: no room" in report_page(report([failed]))
    assert "Gotcha" not in report_page(report(runs[3:4]))


@pytest.mark.parametrize("words", [NOTE, "# head\n\ntext", "1) a\n\n   b\n2) c", "a\\\nb\nc", "***both***", "    code"])
def test_rewritten_markdown_keeps_its_meaning(words: str) -> None:
    expected = safe_html(words).replace("<h1>head</h1>", "<p><strong>head</strong></p>")
    shown_safe_html = safe_html(safe_markdown(words))
    assert shown_safe_html.replace("<code>--flag a|b</code>", "--flag a|b") == expected.replace(
        "<code>--flag a|b</code>", "--flag a|b"
    )


@pytest.mark.parametrize(
    "words",
    [
        EVIL,
        "!![x](https://example.org/a.png)",
        "![x](https://example.org/a.png)",
        "[x](javascript:alert(1)) <script>1</script> <img src=x>",
        "[a]: javascript:1\n\n[a]",
        "| a |\n|---|\n| <img src=x> `|` |",
        "```\n<img src=x>\n````\n<img src=y>",
        "- <b>\n\n  > <img src=x>",
        "\\<img src=x> `a` \\`<img src=x>\\`",
    ],
)
def test_no_note_is_html_or_an_image(words: str) -> None:
    written_safe_markdown = safe_markdown(words)
    actual_every = every(READER.parse(written_safe_markdown))
    assert {one.content for one in actual_every if one.type.startswith("html")} <= {"<!-- -->"}, written_safe_markdown
    assert not [one for one in actual_every if one.type == "image"], written_safe_markdown
    assert all(str(one.attrs["href"]).startswith("http") for one in actual_every if one.type == "link_open"), (
        written_safe_markdown
    )


def test_value_that_became_secret_is_masked(
    store: Store, runs: list[Run], report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(store, runs[0], text=f"key {SECRET}", impression=SECRET)
    gotcha(store, runs[0], workaround=f"use {SECRET}", link=f"https://example.org/{SECRET}><img/src=x>")
    known_secrets = KnownSecrets()
    known_secrets.add([SECRET])
    monkeypatch.setattr("redaction.KNOWN", known_secrets)
    data = report(runs)
    assert SECRET not in report_page(data) + report_markdown(data) and "<img" not in report_markdown(data)
