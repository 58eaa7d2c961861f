"""The part of the Launch page that takes in logs and bundles from elsewhere, dropped here or lying on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import NamedTuple

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from collectors.imports.inbox import Job, Status, drop, inbox_folder, new_job_id, status_of
from collectors.imports.log_file import ImportRefusedError
from collectors.imports.named_files import named_files
from collectors.imports.timestamps import read_zone
from machine.private_files import private_folder
from web import audit, markup
from web.actions import require_operator
from web.context import services
from web.markup import markdown_text

JOBS = "import-jobs"
ROUND = "import-round"  # a new one empties the drop zone
WORDS = (
    "Server logs of vLLM, SGLang, llama.cpp or TensorRT-LLM, plain, .gz or .zst, also as docker or journalctl print "
    "them, and bundles of Pitwall. Each becomes a run like any other; one that is known goes on where it ended. "
    "Results of llama-benchy, vllm bench serve, sglang.bench_serving, GuideLLM, AIPerf, lm-eval, BFCL and EvalScope, "
    "plain, .gz or .zst, and tables as people publish them, become loads of a run of their own, or of the one you name."
)


class Choices(NamedTuple):
    """What was filled in."""

    uploads: Sequence[UploadedFile]
    path: str
    name: str
    zone: str
    day: date | None
    run: str


def import_form() -> None:
    """The drop zone, and below it how far each file is."""
    st.caption(WORDS)
    with st.form("import", border=False):
        choices = _choices()
        pressed = st.form_submit_button("Import", type="primary")
    if pressed:
        _hand_in(choices)
    jobs = _jobs()
    every = 1.0 if any(not _status(job).is_over for job in jobs) else None
    st.fragment(_progress, run_every=every)(every is not None)


def _choices() -> Choices:
    round_number = st.session_state.setdefault(ROUND, 0)
    uploads = st.file_uploader("Drop files here", accept_multiple_files=True, key=f"import-files-{round_number}")
    left, right = st.columns(2)
    return Choices(
        uploads=uploads,
        path=left.text_input(
            "Or the path of a file, or of a tool's folder, on this machine",
            placeholder="/var/log/vllm.log.gz or ~/logs/*.log",
        ),
        name=right.text_input("Name of the run", placeholder="made of engine and model", key="import-name"),
        zone=left.text_input(
            "Time zone of stamps that name none", placeholder="as the file's date shows, else this machine's"
        ),
        day=right.date_input(
            "Last written on",
            value=None,
            help="For stamps without a year; a dropped file brings no date, so that without a day today is taken.",
        ),
        run=left.text_input(
            "Run that results belong to", placeholder="a new one", help="The id of a run, as its page's address has it."
        ),
    )


def _hand_in(choices: Choices) -> None:
    """Give every file to the inbox, or say why not."""
    require_operator()
    try:
        paths = named_files(choices.path.strip()) if choices.path.strip() else []
        zone = choices.zone.strip() or None
        if zone:
            read_zone(zone)
    except ImportRefusedError as refusal:
        st.error(markdown_text(str(refusal)))
        return
    made = [_upload_job(upload, choices, zone) for upload in choices.uploads]
    made += [_job(path.absolute(), path.name, choices, zone, is_upload=False) for path in paths]
    for job in made:
        drop(_folder(), job)
    st.session_state[JOBS] = [*_jobs(), *made]
    if made:
        audit.record("import", detail=", ".join(job.shown_name for job in made))
        st.session_state[ROUND] += 1
        st.rerun()


def _upload_job(upload: UploadedFile, choices: Choices, zone: str | None) -> Job:
    private_folder(_folder())
    path = _folder() / f"{new_job_id(datetime.now(UTC))}.upload"
    path.touch(mode=0o600)
    path.write_bytes(upload.getbuffer())
    return _job(path, upload.name, choices, zone, is_upload=True)


def _job(path: Path, shown_name: str, choices: Choices, zone: str | None, is_upload: bool) -> Job:
    now = datetime.now(UTC)
    chosen = datetime.combine(choices.day, time.max, UTC) if choices.day else None
    return Job(
        id=new_job_id(now),
        path=path,
        shown_name=shown_name,
        name=choices.name.strip() or None,
        zone=zone,
        dated=chosen or (now if is_upload else None),
        is_upload=is_upload,
        run=choices.run.strip() or None,
    )


def _progress(was_busy: bool) -> None:
    """How far each file is; when the last one is over, the page is drawn once more and looks no further."""
    found = [(job, _status(job)) for job in _jobs()]
    for job, status in found:
        _one(job, status)
    if was_busy and all(status.is_over for _, status in found):
        st.rerun()


def _one(job: Job, status: Status) -> None:
    if status.state == "done":
        st.success(markdown_text(status.text))
        st.html(f'<a href="{_page(status.run_ids)}" target="_self">{_page_name(status.run_ids)}</a>')
    elif status.state == "refused":
        st.error(markdown_text(status.text))
    else:
        st.progress(min(status.share, 1.0), markdown_text(f"{job.shown_name}: {status.state}"))


def _page(run_ids: Sequence[str]) -> str:
    return markup.run_link("run" if len(run_ids) == 1 else "compare", run_ids)


def _page_name(run_ids: Sequence[str]) -> str:
    return "Open the run" if len(run_ids) == 1 else "Compare the runs"


def _jobs() -> list[Job]:
    jobs: list[Job] = st.session_state.get(JOBS, [])
    return jobs


def _status(job: Job) -> Status:
    return status_of(_folder(), job.id)


def _folder() -> Path:
    return inbox_folder(services().settings.data_dir)
