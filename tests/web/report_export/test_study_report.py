"""The report of a study: its answer as the Studies page says it, then the comparison of its runs by what it asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.main import main
from commands.study_file import study_of_text
from domain import Run, Study, utc_now
from settings import Settings
from storage.store import Store
from tests.web.report_export.conftest import EVIL

FILE = """
question = "which"
title = "Which number of drafts <b>?"
smallest_difference = 0.05
objective = "ttft_ms@2"
[[arm]]
name = "k 0"
command = "vllm serve org/model --port 8001"
[[arm]]
name = "k 4"
command = "vllm serve org/model --port 8002"
[[workload]]
name = "ladder"
"""
ARMS: list[dict[str, Any]] = [
    {
        "name": name,
        "runs": 3,
        "state": state,
        "ratio": ratio,
        "interval": [ratio, ratio + wide],
        "values": [],
        "cause": None,
        "start_mean": 92.5,
        "start_mean_interval": [90.0, 95.0],
    }
    for name, state, ratio, wide in (("k 0", "out", 1.0, 0.0), ("k 4", "racing", 2.17, 0.2))
]


def study_of_drafts(study_id: str, title: str) -> Study:
    """Ended, with a winner and a hostile reason."""
    plan, now = study_of_text(FILE, "drafts"), utc_now()
    answer = {"answer": "winner", "winner": "k 4", "arms": ARMS, "runs": 6, "objective": "ttft_ms@2", "reasons": [EVIL]}
    return Study(
        id=study_id,
        title=title,
        question=plan.question,
        state="ended",
        created_at=now,
        updated_at=now,
        plan=plan.model_dump(mode="json"),
        answer=answer | {"leader": "k 4"},
    )


@pytest.fixture
def study(store: Store, runs: list[Run]) -> Study:
    """The six runs are its own."""
    study = study_of_drafts("study-1", "Which number of drafts <b>?")
    store.save_study(study)
    for run in runs:
        store.save_run(run.model_copy(update={"batch_id": study.id, "arm": run.name[:3]}))
    return study


@pytest.mark.publishes
def test_report_begins_with_answer_by_objective(
    store: Store, settings: Settings, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.close()
    monkeypatch.setenv("PITWALL_DATA", str(settings.data_dir))
    page, text = tmp_path / "r.html", tmp_path / "r.md"
    assert main(["report", "--study", study.id, "--html", str(page), "--markdown", str(text)]) == 0
    shown_text, written_text = page.read_text(), text.read_text()
    assert "k 4 is best." in shown_text and "**k 4 is best.**" in written_text
    assert "Which number of drafts &lt;b&gt;?" in shown_text and "<img src=x" not in shown_text
    assert "| k 4 | best | 3 | 92.5 (90 to 95) | 2.17x | 2.17x to 2.37x |" in written_text
    assert (
        "Compared by time to first token, 2 at once" in shown_text
        and "Differences below 5 % count as irrelevant." in shown_text
    )
    inside = json.loads(shown_text.split('id="report-data">')[1].split("</script>")[0])
    answers = inside["tables"]["answers"]
    assert {row[answers["columns"].index("margin")] for row in answers["rows"]} == {0.05} and len(
        inside["made"]["runs"]
    ) == 6
