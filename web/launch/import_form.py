"""The part of the Launch page that imports logs, bundles and results, uploaded or on this machine's disk."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import NamedTuple

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from collectors.imports.inbox import (
    ImportJob,
    Status,
    cancel_job,
    inbox_folder,
    job_status,
    new_job_id,
    submit_job,
)
from collectors.imports.log_file import ImportRefusedError
from collectors.imports.named_files import named_files
from collectors.imports.timestamps import read_zone
from machine.private_files import private_folder
from web import audit, markup
from web.actions import Once, require_operator
from web.context import services
from web.markup import markdown_text
from web.redirects import go_to

JOBS = "import-jobs"
UPLOAD_ROUND = "import-round"  # a new one empties the drop zone
INTRODUCTION = (
    "Server logs of vLLM, SGLang, llama.cpp or TensorRT-LLM (plain, .gz or .zst, also as printed by docker or "
    "journalctl) and Pitwall bundles. Each becomes a run; a log that was imported before continues where it ended. "
    "Results of llama-bench, llama-batched-bench, llama-benchy, vllm bench serve and its sweeps, sglang.bench_serving, "
    "trtllm-bench, GuideLLM, AIPerf, LLMPerf, inference-perf, InferenceX, MLPerf, lm-eval, BFCL and EvalScope (plain, "
    ".gz or .zst) and published tables become loads of a new run, or of the run that you name."
)


class ImportChoices(NamedTuple):
    """The filled-in form."""

    uploads: Sequence[UploadedFile]
    path: str
    name: str
    zone: str
    day: date | None
    run: str


def import_form() -> None:
    """The upload form, and below it the progress of each file."""
    st.caption(INTRODUCTION)
    with st.form("import", border=False):
        choices = _read_choices()
        pressed = st.form_submit_button("Import", type="primary")
    if pressed:
        _submit(choices)
    jobs = _jobs()
    refresh_s = 1.0 if any(not _status(job).is_over for job in jobs) else None
    st.fragment(_show_progress, run_every=refresh_s)(refresh_s is not None)


def _read_choices() -> ImportChoices:
    round_number = st.session_state.setdefault(UPLOAD_ROUND, 0)
    uploads = st.file_uploader("Drop files here", accept_multiple_files=True, key=f"import-files-{round_number}")
    left_column, right_column = st.columns(2)
    return ImportChoices(
        uploads=uploads,
        path=left_column.text_input(
            "Or the path of a file or a tool's folder on this machine",
            placeholder="/var/log/vllm.log.gz or ~/logs/*.log",
        ),
        name=right_column.text_input("Name of the run", placeholder="made from engine and model", key="import-name"),
        zone=left_column.text_input(
            "Time zone, if the log has none", placeholder="by the file's date, else this machine's"
        ),
        day=right_column.date_input(
            "Last written on",
            value=None,
            help="For timestamps without a year. An uploaded file has no date, so today is used if this is empty.",
        ),
        run=left_column.text_input(
            "Run that results belong to", placeholder="a new one", help="A run's id, as in its page's address."
        ),
    )


def _submit(choices: ImportChoices) -> None:
    """Put every file into the inbox, or say why not."""
    require_operator()
    try:
        paths = named_files(choices.path.strip()) if choices.path.strip() else []
        zone = choices.zone.strip() or None
        if zone:
            read_zone(zone)
    except ImportRefusedError as refusal:
        st.error(markdown_text(str(refusal)))
        return
    new_jobs = [_upload_job(upload, choices, zone) for upload in choices.uploads]
    new_jobs += [_job(path.absolute(), path.name, choices, zone, is_upload=False) for path in paths]
    for job in new_jobs:
        submit_job(_folder(), job)
    st.session_state[JOBS] = [*_jobs(), *new_jobs]
    if new_jobs:
        audit.record("import", detail=", ".join(job.shown_name for job in new_jobs))
        st.session_state[UPLOAD_ROUND] += 1
        st.rerun()


def _upload_job(upload: UploadedFile, choices: ImportChoices, zone: str | None) -> ImportJob:
    private_folder(_folder())
    path = _folder() / f"{new_job_id(datetime.now(UTC))}.upload"
    path.touch(mode=0o600)
    path.write_bytes(upload.getbuffer())
    return _job(path, upload.name, choices, zone, is_upload=True)


def _job(path: Path, shown_name: str, choices: ImportChoices, zone: str | None, is_upload: bool) -> ImportJob:
    created_at = datetime.now(UTC)
    last_written = datetime.combine(choices.day, time.max, UTC) if choices.day else None
    return ImportJob(
        id=new_job_id(created_at),
        path=path,
        shown_name=shown_name,
        name=choices.name.strip() or None,
        zone=zone,
        dated=last_written or (created_at if is_upload else None),
        is_upload=is_upload,
        run=choices.run.strip() or None,
    )


def _show_progress(was_busy: bool) -> None:
    """Show each file's progress; when the last one is done, rerun the page once and stop refreshing."""
    statuses = [(job, _status(job)) for job in _jobs()]
    for job, status in statuses:
        _show_job(job, status)
    _offer_comparison([status for _, status in statuses])
    if was_busy and all(status.is_over for _, status in statuses):
        st.rerun()


def _offer_comparison(statuses: Sequence[Status]) -> None:
    """Show a button that compares the runs of all files, if they are several and none is under way."""
    run_ids = list(dict.fromkeys(run_id for status in statuses for run_id in status.run_ids))
    is_over = all(status.is_over for status in statuses)
    with_runs = [status for status in statuses if status.run_ids]
    if is_over and len(with_runs) > 1 and len(run_ids) > 1:
        label = f"Compare these {len(run_ids)}"
        if st.button(label, type="primary", key="compare-imported", icon=":material/compare_arrows:"):
            go_to(markup.run_link("compare", run_ids))


def _show_job(job: ImportJob, status: Status) -> None:
    if status.state == "done":
        st.success(markdown_text(status.text))
        st.html(f'<a href="{_result_link(status.run_ids)}" target="_self">{_result_label(status.run_ids)}</a>')
    elif status.state == "refused":
        st.error(markdown_text(status.text))
    else:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.progress(min(status.share, 1.0), markdown_text(f"{job.shown_name}: {status.state}"))
            st.button("Cancel", key=f"cancel-{job.id}", on_click=Once(_cancel), args=(job,), width="content")


def _cancel(job: ImportJob) -> None:
    """Take the job out of the inbox; an import that is under way ends and stores nothing."""
    require_operator()
    cancel_job(_folder(), job.id)
    if job.is_upload:
        job.path.unlink(missing_ok=True)
    st.session_state[JOBS] = [kept_job for kept_job in _jobs() if kept_job.id != job.id]
    audit.record("cancel import", detail=job.shown_name)
    st.toast(markdown_text(f"The import of {job.shown_name} was cancelled."))


def _result_link(run_ids: Sequence[str]) -> str:
    return markup.run_link("run" if len(run_ids) == 1 else "compare", run_ids)


def _result_label(run_ids: Sequence[str]) -> str:
    return "Open the run" if len(run_ids) == 1 else f"Compare these {len(run_ids)}"


def _jobs() -> list[ImportJob]:
    jobs: list[ImportJob] = st.session_state.get(JOBS, [])
    return jobs


def _status(job: ImportJob) -> Status:
    return job_status(_folder(), job.id)


def _folder() -> Path:
    return inbox_folder(services().settings.data_dir)
