"""The import form: an import that waits or is under way can be cancelled."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from collectors.imports.inbox import ImportJob, Status, inbox_folder, new_job_id, submit_job
from settings import Settings
from tests.web.conftest import ProvideServices
from web.launch.import_form import JOBS

SCRIPT = "from web.launch.import_form import import_form\nimport_form()"


@pytest.mark.parametrize("is_upload", [True, False])
def test_a_waiting_import_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices, is_upload: bool
) -> None:
    """A copy that was uploaded goes with it; a file of this machine stays."""
    settings = Settings(data_dir=tmp_path / "data")
    provide_services(SimpleNamespace(settings=settings))
    monkeypatch.setattr("web.actions.current_role", lambda: "operator")
    audited: list[str] = []
    monkeypatch.setattr("web.audit.record", lambda action, *_, detail: audited.append(f"{action} {detail}"))
    (file := tmp_path / "big.log").write_text("a line\n")
    folder = inbox_folder(settings.data_dir)
    job = ImportJob(id=new_job_id(datetime.now(UTC)), path=file, shown_name="big.log", is_upload=is_upload)
    submit_job(folder, job)
    at = AppTest.from_string(SCRIPT, default_timeout=60)
    at.session_state[JOBS] = [job]
    at.run().button(key=f"cancel-{job.id}").click().run()
    assert not at.exception and not list(folder.glob("*.job.json")) and file.exists() != is_upload
    assert at.session_state[JOBS] == [] and audited == ["cancel import big.log"]


@pytest.mark.parametrize("files", [1, 2])
def test_runs_of_several_files_are_compared_by_a_button(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices, files: int
) -> None:
    provide_services(SimpleNamespace(settings=Settings(data_dir=tmp_path / "data")))
    monkeypatch.setattr("web.actions.current_role", lambda: "operator")
    visited: list[str] = []
    monkeypatch.setattr("web.launch.import_form.go_to", visited.append)
    jobs = [ImportJob(id=str(n), path=tmp_path / f"{n}.log", shown_name=f"{n}.log") for n in range(files)]
    monkeypatch.setattr(
        "web.launch.import_form._status", lambda job: Status(state="done", text="done", run_ids=(f"r{job.id}", "both"))
    )
    at = AppTest.from_string(SCRIPT, default_timeout=60)
    at.session_state[JOBS] = jobs
    at.run()
    assert not at.exception
    labels = [button.label for button in at.button if button.key == "compare-imported"]
    assert labels == (["Compare these 3"] if files > 1 else []), "one file has its own link"
    if labels:
        at.button(key="compare-imported").click().run()
        assert visited == ["compare?run=r0&run=both&run=r1"]
