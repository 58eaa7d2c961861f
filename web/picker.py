"""The run picker: selects the runs that a page shows, in step with the URL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import streamlit as st

from domain import Run
from errors import PitwallError
from web import page_paths
from web.actions import is_member, is_operator
from web.assets import STATIC
from web.context import services
from web.fleet import away_ids
from web.markup import markdown_text
from web.run_colors import in_distinct_colors
from web.runs.table.run_listing import titles_of
from web.theme import DASH
from web.times import SECONDS, format_time
from web.url_state import Widget, choose_some

_proposed_runs = st.components.v2.component("pitwall_proposed_runs", js=(STATIC / "proposed_runs.js").read_text())
PROPOSED = 3
ID_TAIL = 4  # characters of an id that distinguish runs of the same second


@dataclass(frozen=True)
class RunSelection:
    """The runs named by the URL, in its order and in distinct colours, and the ids in it that match no run."""

    runs: list[Run]
    unknown_ids: list[str]
    picker_key: str | None = None  # set if the runs are only proposed: the URL names none of them yet


def run_labels(runs: Sequence[Run], machines: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a label per run id: name, start time and machine, plus the end of the id if these are equal.

    machines: id -> title of the machines to name. A label must not change over time: a browser identifies its
    selection by it.
    """
    titles = machines or {}
    labels = {
        run.id: f"{run.name} {DASH} {format_time(_started(run), SECONDS)}"
        + (f" {DASH} {titles[run.machine_id]}" if run.machine_id in titles else "")
        for run in runs
    }
    counts = Counter(labels.values())
    return {run_id: label if counts[label] == 1 else f"{label} {run_id[-ID_TAIL:]}" for run_id, label in labels.items()}


def _started(run: Run) -> datetime:
    """When a run was created; for an imported log, when its server started."""
    return run.began_at if run.kind == "imported" else run.created_at


def pick_runs(runs: Sequence[Run], default: Sequence[str], prompt: str, key: str, max_runs: int = 8) -> RunSelection:
    """A picker over `runs`, in step with `?run=...&run=...`; `default` is shown if the URL names none."""
    by_id = {run.id: run for run in runs}
    url_ids = list(dict.fromkeys(st.query_params.get_all("run")))
    unknown_ids = [run_id for run_id in url_ids if run_id not in by_id]
    if len(by_id) == 1 and not unknown_ids and not is_member():  # a guest who may see one run has nothing to pick
        return RunSelection(list(runs), [])
    if not by_id:
        return RunSelection([], unknown_ids)
    valid_ids = ([run_id for run_id in url_ids if run_id in by_id] or ([] if url_ids else list(default)))[:max_runs]
    widget = Widget(key)
    initial_ids = widget.begin(valid_ids, lambda ids: by_id.keys() >= set(ids))
    selected_ids = _choose(runs, prompt, widget, initial_ids, max_runs)
    is_proposed = not url_ids and selected_ids == valid_ids
    if selected_ids != url_ids and not unknown_ids and not is_proposed:
        st.query_params["run"] = selected_ids
    widget.set_url_value(valid_ids if unknown_ids else selected_ids)
    selected_runs = in_distinct_colors([by_id[run_id] for run_id in selected_ids])
    return RunSelection(selected_runs, unknown_ids, key if is_proposed else None)


def _choose(runs: Sequence[Run], prompt: str, widget: Widget, initial_ids: list[str], max_runs: int) -> list[str]:
    machines = _titles(runs)
    titles = machines if len(machines) > 1 else {}
    machine_ids = _choose_machines(runs, titles, widget.name)
    selected_ids = [*initial_ids, *st.session_state.get(widget.key, [])]
    return st.multiselect(
        prompt,
        [run.id for run in runs if not machine_ids or run.machine_id in machine_ids or run.id in selected_ids],
        initial_ids,
        format_func=run_labels(runs, titles).__getitem__,
        key=widget.key,
        max_selections=max_runs,
        select_all=False,
        placeholder=prompt,
    )


def _titles(runs: Sequence[Run]) -> Mapping[str, str]:
    """Return machine id -> title; for machines that only the lake knows, the lake's titles if it answers."""
    local_titles, fleet = titles_of(services().store), services().fleet
    if fleet is None or not away_ids(runs):
        return local_titles
    with suppress(PitwallError):  # the page has already reported it
        return {**titles_of(fleet), **local_titles}
    return local_titles


def _choose_machines(runs: Sequence[Run], machines: Mapping[str, str], page: str) -> list[str]:
    """A filter by machine if the runs are of several; empty: all. Selected runs stay listed."""
    options = {run.machine_id: machines[run.machine_id] for run in runs if run.machine_id in machines}
    return choose_some("Machine", "machine", page, options, "all") if len(options) > 1 else []


def proposed_runs(runs: Sequence[Run]) -> list[Run]:
    """Return the finished runs of the batch that started last, or else the last three, in order of their start."""
    finished = sorted((run for run in runs if run.shown_state == "finished"), key=lambda run: run.began_at)
    batch = [run for run in finished if run.batch_id and run.batch_id == finished[-1].batch_id]
    return batch if len(batch) > 1 else finished[-PROPOSED:]


def sync_address(selection: RunSelection) -> None:
    """Put the proposed runs into the browser's URL, without a history entry, and warn about unknown ids.

    Call it outside the picker's popover: content of a closed popover does not reach the browser.
    """
    if selection.picker_key and selection.runs:
        proposal = {"page": selection.picker_key.partition("-")[0], "runs": [run.id for run in selection.runs]}
        with st.container(key="unseen-proposed"):  # takes no room: web/static/pitwall.css
            _proposed_runs(key=f"{selection.picker_key}-proposed", data=proposal)
    for run_id in selection.unknown_ids:
        st.warning(
            f"No run has the id {markdown_text(run_id)}. It may belong to another Pitwall, or the link is incomplete."
        )


def no_runs_yet(purpose: str) -> None:
    """Show a member that there are no runs yet; `purpose` is a sentence that says what the page is for."""
    if not is_operator():
        st.info(f"Nothing has run yet. {purpose}")
        return
    st.info(f"Nothing has run yet. {purpose} Start the demo on the Runs page, or launch your own server.")
    with st.container(horizontal=True):
        st.page_link(page_paths.RUNS, label="Run the demo")
        st.page_link(page_paths.LAUNCH, label="Launch your own engine")
