"""The part of the Launch page that fills the queue: the edited configuration, varied in one or two fields."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import streamlit as st

from analysis.comparison.config_diff import differing_fields
from commands.sweep import Axis, Variant, estimate, read_values, sweep_configs
from commands.write import CommandError, shell_text
from domain import Config, JsonValue
from launcher.checks.preflight import LaunchRefusedError, LaunchRequest
from launcher.runs.rounds import MOST_REPEATS, new_seed, repeated
from web import audit, markup, places
from web.actions import require_operator
from web.context import services
from web.launch import draft
from web.launch.config_fields import groups_of, label_of
from web.launch.draft import Draft
from web.launch.host_choice import HERE, chosen_host
from web.launch.loads.load_axis import vary_load
from web.launch.loads.load_choice import choose_workload
from web.launch.loads.load_form import SUGGESTED_REPEATS, Load, cost
from web.markup import markdown_text
from web.theme import duration
from workloads import spec_for
from workloads.saved_loads import SavedLoad
from workloads.texts.prompt_file import PlanError
from workloads.variants import LoadVariant

KNOWN_RUNS = 200
MOST_RUNS = 128
SWEPT_KINDS = ("text", "integer", "number", "switch")
NOT_SWEPT = ("host", "port", "served_model_name", "image")


class Job(NamedTuple):
    """One run of each round."""

    name: str
    config: Config
    params: Mapping[str, JsonValue]  # of the load


def sweep() -> None:
    """Fields and values, the plan, and the button; nothing starts before the plan was shown."""
    edited = draft.current()
    if edited.config is None:
        st.info("A sweep varies the configuration under **Configure and launch**: choose or paste one there first.")
        return
    machine = markdown_text(chosen_host() or HERE)
    st.caption(f"A sweep varies what stands under Configure and launch: {markdown_text(_title(edited))}, on {machine}.")
    try:
        axes = _axes(edited.config)
        variants = sweep_configs(edited.config, axes) if axes else []
        load = _load(edited)
        loads = vary_load(load)
    except (CommandError, PlanError) as problem:
        st.error(markdown_text(str(problem)))
        return
    given = {n: st.text_input(f"{n} (secret, not stored) ", type="password") for n in edited.missing_secrets}
    if not variants and len(loads) == 1:
        st.caption("The plan appears here: every run with its command, before anything starts.")
        return
    jobs = _jobs(variants or [Variant("", edited.config)], loads)
    _plan(edited.config, jobs, load)
    count = len(jobs) * load.repeats
    if count > MOST_RUNS:
        st.error(f"{count} runs are more than a sweep takes ({MOST_RUNS}).")
        return
    if st.button(f"Queue these {count} runs", type="primary", disabled=bool(edited.still_required)):
        _queue(edited, jobs, load, {**edited.secrets_in_use, **given})


def _load(edited: Draft) -> Load:
    left, right = st.columns(2)
    repeats = right.number_input("Repeats, in rounds", 1, MOST_REPEATS, SUGGESTED_REPEATS, key="sweep-repeats")
    proposed = edited.proposed_workload
    like = SavedLoad(workload=proposed, params=edited.load_params(proposed))
    key = f"sweep-load-{edited.origin}-{proposed}"
    chosen = choose_workload(like, key, "Workload of every run", place=left)
    return Load(chosen.workload, int(repeats), chosen.params)


def _jobs(variants: Sequence[Variant], loads: Sequence[LoadVariant]) -> list[Job]:
    """Every configuration under every load, the load turning fastest."""
    both = itertools.product(variants, loads)
    return [Job(", ".join(filter(None, (one.name, load.name))), one.config, load.params) for one, load in both]


def _title(edited: Draft) -> str:
    return edited.origin or (edited.config.model if edited.config and edited.config.model else "the pasted command")


def _axes(config: Config) -> list[Axis]:
    """The fields that were chosen, with their values; raises ValueError for values that are none."""
    labels = {
        field.path: label_of(config, field)
        for fields in groups_of(config).values()
        for field in fields
        if field.kind in SWEPT_KINDS and field.path not in NOT_SWEPT
    }
    axes = []
    for number, example in enumerate(("0..7", "auto, fp8")):
        left, right = st.columns([2, 3])
        word = "Vary" if number == 0 else "And vary"
        path = left.selectbox(
            word,
            list(labels),
            index=None,
            format_func=lambda path: labels[path].replace("`", ""),
            placeholder="a field",
            key=f"sweep-field-{number}",
        )
        text = right.text_input(
            "Values" if number == 0 else "Its values",
            placeholder=f"{example}; none: not said",
            key=f"sweep-values-{number}",
        )
        if path and text.strip():
            axes.append(Axis(path, read_values(path, text)))
    return axes


def _plan(base: Config, jobs: Sequence[Job], load: Load) -> None:
    st.subheader("The plan")
    count = len(jobs) * load.repeats
    like = estimate(count, load.workload, services().store.runs(limit=KNOWN_RUNS), base)
    took = f"about {duration(like.seconds)}" if like.seconds is not None else "time not known"
    kinds = "configurations" if len({one.config.fingerprint for one in jobs}) == len(jobs) else "combinations"
    st.markdown(f"{len(jobs)} {kinds}, {load.repeats} × each: **{count} runs**, {took} ({like.basis}).")
    st.caption(cost(load, len(jobs)) + f" Each round takes every one of the {kinds} once, every second one backwards.")
    rows = [[str(at), markup.text(one.name), _changes(base, one.config)] for at, one in enumerate(jobs, start=1)]
    st.html(markup.table(["", "run", "differs from the edited one in"], rows))
    with st.expander("Every command"):
        for one in jobs:
            st.caption(markdown_text(one.name))
            st.code(shell_text(one.config.argv), language="bash", wrap_lines=True)


def _changes(base: Config, config: Config) -> str:
    changed = differing_fields([one.model_dump(mode="json", exclude={"argv"}) for one in (base, config)])
    return markup.text(", ".join(changed) or "nothing")


def _queue(edited: Draft, jobs: Sequence[Job], load: Load, secrets: dict[str, str]) -> None:
    require_operator()
    requests = [
        LaunchRequest(
            config=one.config,
            name=one.name,
            workload=spec_for(load.workload, one.params),
            secrets={name: value for name, value in secrets.items() if value},
            makes_model=edited.makes_model,
            on_host=chosen_host(),
        )
        for one in jobs
    ]
    try:
        runs = services().supervisor.launch_batch(
            repeated(requests, load.repeats, new_seed()), one_after_the_other=True
        )
    except LaunchRefusedError as refusal:
        st.error(markdown_text(str(refusal)))
        return
    audit.record("launch", [run.id for run in runs], "a sweep")
    st.switch_page(places.RUNS)
