"""The report's one file: it says what Compare says, fetches nothing, and no text in it is ever markup."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest

from analysis.evidence.objectives import parse_objective
from cli.results.compare import as_json, as_text
from domain import Run
from reports.arms.comparison import ComparisonOptions, comparison_of, run_names
from reports.runs.run_metrics import MetricValue
from storage.queries.run_queries import runs_of
from storage.store import Store
from tests.analysis.comparison.ideal_engine import IdealEngine, repeats
from tests.analysis.comparison.stored.test_store_to_answer import SMALL, stored
from tests.web.report_export.conftest import EVIL, SECRET, Report
from web.compare.answer.answer_cards import answer_cards
from web.compare.answer.dots import page_span
from web.compare.answer.guard_words import row_text
from web.compare.answer.overview import overview_sentence
from web.compare.answer.sentence import answer_sentence, detail, factor_text
from web.report_export.markdown import report_markdown
from web.report_export.page import report_page

pytestmark = pytest.mark.wide


class _Read(HTMLParser):
    """The elements of a page and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def numbers_in(page: str) -> dict[str, list[dict[str, object]]]:
    match = re.search(r'<script type="application/json" id="report-data">(.*?)</script>', page, re.DOTALL)
    assert match
    tables = json.loads(match[1])["tables"]
    return {
        name: [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]] for name, table in tables.items()
    }


def test_sentence_over_all_arms_is_the_same_everywhere(store: Store, runs: list[Run], report: Report) -> None:
    """On Compare, in both reports and on the command line, with either of the outer arms as the baseline."""
    rng = np.random.default_rng(5)
    facts = repeats(IdealEngine(0.02, drafts=2, start_sd=0.005), "ladder", 3, rng, **SMALL)
    more = [stored(store, run_facts, 2, 40 + number) for number, run_facts in enumerate(facts)]
    for ordered in ([*runs, *more], [*runs[3:], *more, *runs[:3]]):
        direct = comparison_of(store, runs_of(store, [run.id for run in ordered]), ComparisonOptions())
        sentence = overview_sentence(direct.answers)
        data = report(ordered)
        colors = {arm.id: index for index, arm in enumerate(direct.arms)}
        cards = answer_cards(direct.answers, run_names(direct.arms), colors, page_span(direct.answers))
        texts = [unescape(cards), " ".join(_Read(report_page(data)).words), report_markdown(data).replace("\\", "")]
        assert all(sentence in text for text in (*texts, as_text(direct, []))), sentence
        assert as_json(direct, [])["overview"] == sentence


@pytest.mark.parametrize("objective", ["output_tps@8", "ttft_ms@2", "decode_tps"])
def test_it_says_what_compare_says(store: Store, runs: list[Run], report: Report, objective: str) -> None:
    options = ComparisonOptions(parse_objective(objective))
    direct = comparison_of(store, runs_of(store, [run.id for run in runs]), options)
    (answer,) = direct.answers
    page, text = report_page(report(runs, options)), report_markdown(report(runs, options))
    answer_sentences = [
        answer_sentence(answer, run_names(direct.arms)),
        detail(answer),
        *(factor_text(factor) for factor in answer.factors),
    ]
    shown_text = " ".join(_Read(page).words)
    assert all(words and words in shown_text for words in answer_sentences[:2])
    assert all(words and words in text.replace("\\", "") for words in answer_sentences)
    assert answer.judgement
    (row,) = numbers_in(page)["answers"]
    assert (row["ratio"], row["answer"]) == (answer.judgement.ratio, answer.judgement.answer.value)
    assert [row["low"], row["high"]] == list(answer.judgement.interval or (None, None))
    texts = {str(row["found"]) for row in numbers_in(page)["guard"]}
    assert texts == {row_text(row, run_names(direct.arms)) for row in answer.rows}


def test_no_text_is_markup_and_no_secret_is_in_it(evil_runs: list[Run], report: Report) -> None:
    page = report_page(report(evil_runs))
    tags = _Read(page).tags
    assert [tag for tag, _ in tags].count("script") == 2 and "img" not in dict(tags)
    assert not any(name.startswith("on") for _, attrs in tags for name in attrs)
    assert "<img src=x" not in page and unescape(page).count(EVIL) > 6, "each text is there, as text"
    assert str(numbers_in(page)["runs"][0]["run"]).startswith(EVIL)
    assert SECRET not in page and SECRET not in report_markdown(report(evil_runs))


def test_file_fetches_nothing_and_runs_own_script(runs: list[Run], report: Report) -> None:
    page = report_page(report(runs))
    read = _Read(page)
    assert not [attrs for _, attrs in read.tags if {"src", "action"} & attrs.keys()]
    assert {attrs["href"][0] for _, attrs in read.tags if "href" in attrs} == {"#"}, "links lead to parts of the file"
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|WebSocket", page)
    (policy,) = [str(attrs["content"]) for tag, attrs in read.tags if attrs.get("http-equiv")]
    script = page.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy and policy.startswith("default-src 'none'")


def test_single_run_has_numbers_and_no_answer(runs: list[Run], report: Report) -> None:
    page = report_page(report(runs[:1]))
    assert "What happened" in page and "Is this a fair comparison?" not in page and runs[0].id in page
    assert "answers" not in numbers_in(page) and numbers_in(page)["numbers"]


def test_excluded_run_is_named_with_its_reason(runs: list[Run], report: Report) -> None:
    page = report_page(report(runs, ComparisonOptions(left_out={runs[0].id: "somebody compiled"})))
    assert "left out: somebody compiled" in page


def test_markdown_tables_survive_any_text(evil_runs: list[Run], report: Report) -> None:
    text = report_markdown(report(evil_runs))
    assert "| Config | Runtime | Weights | KV cache | KV pool | Peak TG (p99) | Typical TG |" in text
    cells = re.compile(r"(?<!\\)\|")
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({len(cells.findall(line)) for line in block.splitlines()}) == 1, block
    outside = re.sub(r"^(`{3,})sh\n.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE).replace("<!-- -->", "")
    assert not re.search(r"(?<!\\)[<`\[]", outside), "no element, no code, no link"


def test_very_long_table_is_thinned_and_says_so(
    runs: list[Run], report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.report_export.page.MOST_ROWS", 2)
    page = report_page(report(runs))
    inside = json.loads(page.split('id="report-data">')[1].split("</script>")[0])["tables"]["starts"]
    assert (inside["every"], len(inside["rows"])) == (4, 2), "6 starts, every fourth"


def test_what_is_infinite_is_null_inside(runs: list[Run], report: Report) -> None:
    data = report(runs)
    metrics = {run_id: dict.fromkeys(values, MetricValue(math.inf)) for run_id, values in data.metrics.items()}
    inside = numbers_in(report_page(replace(data, metrics=metrics)))
    assert {row["value"] for row in inside["numbers"]} == {None}


def test_contents_list_leads_to_every_section(report: Report, runs: list[Run]) -> None:
    page = report_page(report(runs))
    links = re.findall(r'<a href="#([^"]+)">([^<]+)</a>', page.split("<main>")[0])
    assert [f'<h2 id="{anchor}">' in page for anchor, _ in links] == [True] * len(links)
    assert len(links) == page.count("<h2 ") >= 8 and len({anchor for anchor, _ in links}) == len(links)
