"""Results of other tools on Compare: imported files side by side, as their tools reported them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from collectors.imports.log_import import ImportOptions
from collectors.imports.result_import import ResultImporter
from reports.cache.run_cache import EvidenceCache, ReportCache
from settings import Settings
from storage.store import Store
from tests.web.conftest import ProvideServices

PAGE = str(Path(__file__).resolve().parents[4] / "pages" / "compare.py")
SUMMARY = {
    "date": "20261101-101010", "backend": "vllm", "model_id": "org/model-8b", "tokenizer_id": "org/model-8b",
    "num_prompts": 200, "request_rate": "inf", "max_concurrency": 16, "duration": 60.0, "completed": 200, "failed": 0,
    "total_input_tokens": 204800, "total_output_tokens": 25602, "request_throughput": 3.33, "output_throughput": 426.7,
    "total_token_throughput": 3840.0, "mean_ttft_ms": 210.5, "median_ttft_ms": 200.1, "p99_ttft_ms": 400.2,
    "mean_tpot_ms": 30.1, "median_tpot_ms": 29.9, "p99_tpot_ms": 35.0, "mean_itl_ms": 30.0, "median_itl_ms": 29.0,
    "p99_itl_ms": 60.0,
}  # fmt: skip
LLAMA_BENCH = """| model | size | params | backend | ngl | test | t/s |
| --- | ---: | ---: | --- | --: | --- | ---: |
| qwen3 8B Q4_K - Medium | 4.68 GiB | 8.19 B | CUDA | 99 | tg128 | 95.90 ± 0.31 |
"""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices) -> Iterator[Store]:
    """The store of the page, which the operator looks at."""
    settings = Settings(data_dir=tmp_path / "data")
    opened = Store.open(settings)
    services = SimpleNamespace(
        store=opened, settings=settings, fleet=None, reports=ReportCache(), evidence=EvidenceCache()
    )
    provide_services(services)
    monkeypatch.setattr("web.visibility.current_role", lambda: "operator")
    monkeypatch.setattr("web.access.roles.current_role", lambda: "operator")
    monkeypatch.setattr("streamlit.page_link", lambda *_, **__: None)  # the page stands here without its app
    yield opened
    opened.close()


def imported(store: Store, path: Path, text: str) -> str:
    """The id of the run of an imported file."""
    path.write_text(text)
    importer = ResultImporter(store, lambda: datetime(2026, 11, 22, 12, tzinfo=UTC))
    return importer.import_results(path, ImportOptions(path.name), lambda share: None).run_ids[0]


def rows_of(run_ids: list[str]) -> dict[str, list[str]]:
    """The cells of the section by the row's title, as the page shows them."""
    at = AppTest.from_file(PAGE, default_timeout=60)
    at.query_params["run"] = run_ids
    at.run()
    assert not at.exception, at.exception
    section = next((section for section in at.expander if section.label == "Reported by other tools"), None)
    if section is None:
        return {}
    (html,) = [str(element.proto.body) for element in section.get("html")]
    rows = [
        [unescape(re.sub(r"<[^>]*>", "", cell)).strip() for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)]
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", html, re.S)
    ]
    return {title: cells for title, *cells in rows[1:]}


def test_two_results_of_a_tool_stand_side_by_side(store: Store, tmp_path: Path) -> None:
    slow = imported(store, tmp_path / "a.json", json.dumps(SUMMARY))
    fast = imported(store, tmp_path / "b.json", json.dumps(SUMMARY | {"output_throughput": 520.1, "duration": 49.0}))
    rows = rows_of([slow, fast])
    speed = next(cells for title, cells in rows.items() if title.startswith("Output speed, tok/s"))
    assert speed == ["426.7", "520.1"]
    assert all("vllm bench serve" in title for title in rows)
    assert not any(title.startswith("Failed") for title in rows)  # no request failed in either
    assert next(cells for title, cells in rows.items() if title.startswith("TTFT p50, ms")) == ["200", "200"]


def test_results_of_different_tools_stand_in_different_rows(store: Store, tmp_path: Path) -> None:
    serving = imported(store, tmp_path / "a.json", json.dumps(SUMMARY))
    llama = imported(store, tmp_path / "bench.md", LLAMA_BENCH)
    rows = rows_of([serving, llama])
    assert [cells for title, cells in rows.items() if "llama-bench" in title] == [["–", "95.9"]]
    assert {cells[1] for title, cells in rows.items() if "vllm" in title} == {"–"}
