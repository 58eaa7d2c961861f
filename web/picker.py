"""Which runs a page shows: the address bar is the view, and the picker writes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import streamlit as st

from domain import Run
from errors import PitwallError
from web import places
from web.actions import is_member, is_operator
from web.context import services
from web.fleet import away_ids
from web.kept import Widget, choose_some
from web.markup import markdown_text
from web.moments import SECONDS, moment
from web.runs.table.run_listing import titles_of
from web.server.assets import STATIC
from web.theme import DASH, colors_apart

_proposes = st.components.v2.component("pitwall_proposed_runs", js=(STATIC / "proposed_runs.js").read_text())
PROPOSED = 3
TAIL = 4  # of an id: what tells apart those of one moment


@dataclass(frozen=True)
class Picked:
    """The runs the address names, in its order, no two of a colour, and the ids in it that no run has."""

    runs: list[Run]
    unknown: list[str]
    proposed_by: str | None = None  # the key of the picker, where the address names none of them yet


def labels(runs: Sequence[Run], machines: Mapping[str, str] | None = None) -> dict[str, str]:
    """Each run as one line of a list, by its id: its name, when and where; the end of its id where these are alike.

    `machines` are those to name, by id. Nothing that changes: a browser names what it has picked by these words, and
    would lose it.
    """
    named = machines or {}
    words = {
        run.id: f"{run.name} {DASH} {moment(_started(run), SECONDS)}"
        + (f" {DASH} {named[run.machine_id]}" if run.machine_id in named else "")
        for run in runs
    }
    times = Counter(words.values())
    return {run_id: line if times[line] == 1 else f"{line} {run_id[-TAIL:]}" for run_id, line in words.items()}


def _started(run: Run) -> datetime:
    """When a run was made; for an imported log, when its server started, since the import says nothing of the run."""
    return (run.started_at or run.created_at) if run.kind == "imported" else run.created_at


def pick_runs(runs: Sequence[Run], default: Sequence[str], prompt: str, key: str, most: int = 8) -> Picked:
    """A picker over `runs`, in step with `?run=...&run=...`; without any in the address, `default` is shown."""
    by_id = {run.id: run for run in runs}
    named = list(dict.fromkeys(st.query_params.get_all("run")))
    unknown = [run_id for run_id in named if run_id not in by_id]
    if len(by_id) == 1 and not unknown and not is_member():  # whoever may see one run has nothing to pick
        return Picked(list(runs), [])
    if not by_id:
        return Picked([], unknown)
    meant = ([run_id for run_id in named if run_id in by_id] or ([] if named else list(default)))[:most]
    widget = Widget(key)
    begun = widget.begin(meant, lambda ids: by_id.keys() >= set(ids))
    chosen = _choose(runs, prompt, widget, begun, most)
    is_proposed = not named and chosen == meant
    if chosen != named and not unknown and not is_proposed:
        st.query_params["run"] = chosen
    widget.wrote(meant if unknown else chosen)
    return Picked(_apart([by_id[run_id] for run_id in chosen]), unknown, key if is_proposed else None)


def _choose(runs: Sequence[Run], prompt: str, widget: Widget, begun: list[str], most: int) -> list[str]:
    machines = _titles(runs)
    named = machines if len(machines) > 1 else {}
    wanted = _machines_wanted(runs, named, widget.name)
    picked = [*begun, *st.session_state.get(widget.key, [])]
    return st.multiselect(
        prompt,
        [run.id for run in runs if not wanted or run.machine_id in wanted or run.id in picked],
        begun,
        format_func=labels(runs, named).__getitem__,
        key=widget.key,
        max_selections=most,
        placeholder=prompt,
    )


def _titles(runs: Sequence[Run]) -> Mapping[str, str]:
    """Machine id -> its title; of machines that only the lake knows, as it names them where it answers."""
    own, fleet = titles_of(services().store), services().fleet
    if fleet is None or not away_ids(runs):
        return own
    with suppress(PitwallError):  # the page that asked for these runs has said so
        return {**titles_of(fleet), **own}
    return own


def _machines_wanted(runs: Sequence[Run], machines: Mapping[str, str], key: str) -> list[str]:
    """A filter where the runs are of several machines; empty: all. What is picked already stays."""
    offered = {run.machine_id: machines[run.machine_id] for run in runs if run.machine_id in machines}
    return choose_some("Machine", "machine", key, offered, "all") if len(offered) > 1 else []


def newest_together(runs: Sequence[Run]) -> list[Run]:
    """What is proposed: the finished runs of the batch that started last, else the three that did, in their order."""
    finished = sorted(
        (run for run in runs if run.state == "finished"), key=lambda run: run.started_at or run.created_at
    )
    batch = [run for run in finished if run.batch_id and run.batch_id == finished[-1].batch_id]
    return batch if len(batch) > 1 else finished[-PROPOSED:]


def _apart(runs: Sequence[Run]) -> list[Run]:
    colors = colors_apart([run.color for run in runs])
    return [run.model_copy(update={"color": color}) for run, color in zip(runs, colors, strict=True)]


def sync_address(picked: Picked) -> None:
    """Have the browser's address name what is proposed, without an entry in its history; say which ids no run has.

    Not where the picker is: what is in a closed popover is not in the browser.
    """
    if picked.proposed_by and picked.runs:
        named = {"page": picked.proposed_by.partition("-")[0], "runs": [run.id for run in picked.runs]}
        with st.container(key="unseen-proposed"):  # takes no room: web/static/pitwall.css
            _proposes(key=f"{picked.proposed_by}-proposed", data=named)
    for run_id in picked.unknown:
        st.warning(
            f"No run has the id {markdown_text(run_id)}. It may belong to another Pitwall, or the link was cut short."
        )


def nothing_yet(here: str) -> None:
    """What a member sees in place of runs while there are none; `here` is a sentence that says what the page is for."""
    if not is_operator():
        st.info(f"Nothing has run yet. {here}")
        return
    st.info(f"Nothing has run yet. {here} Start the demo on the Runs page, or launch a server of your own.")
    with st.container(horizontal=True):
        st.page_link(places.RUNS, label="Run the demo")
        st.page_link(places.LAUNCH, label="Launch your own engine")
