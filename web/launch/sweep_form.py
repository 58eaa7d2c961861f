"""The part of the Launch page that queues a sweep: the draft, varied in one or two fields."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import streamlit as st

from analysis.comparison.config_diff import differing_fields
from commands.sweep import Axis, SweepVariant, estimate, read_values, read_words, sweep_configs
from commands.write import CommandError, shell_text
from domain import Config, JsonValue
from launcher.checks.launch_request import LaunchRefusedError, LaunchRequest
from launcher.runs.rounds import MOST_REPEATS, new_seed, repeat_requests
from web import audit, markup, page_paths
from web.actions import require_operator
from web.context import services
from web.launch import draft
from web.launch.config_fields import groups_of, label_of
from web.launch.draft import LaunchDraft
from web.launch.host_choice import THIS_MACHINE, chosen_host
from web.launch.load_form import SUGGESTED_REPEATS, LaunchLoad, cost_text
from web.loads.forms.load_choice import choose_workload
from web.loads.forms.load_params import field_title
from web.markup import markdown_text
from web.theme import duration
from workloads import spec_for
from workloads.saved_loads import SavedLoad
from workloads.texts.prompt_file import PlanError
from workloads.variants import LoadVariant, load_variants, read_param, variable_params

KNOWN_RUNS = 200
MOST_RUNS = 128
SWEEPABLE_KINDS = ("text", "integer", "number", "switch")
NOT_SWEEPABLE = ("host", "port", "served_model_name", "image")


class SweepRun(NamedTuple):
    """One run per round of the sweep."""

    name: str
    config: Config
    params: Mapping[str, JsonValue]  # the load's


def show_sweep() -> None:
    """Fields and values, the plan, and the button; nothing starts before the plan is shown."""
    edited_draft = draft.current()
    if edited_draft.config is None:
        st.info("A sweep varies the configuration under **Configure and launch**: choose or paste one there first.")
        return
    title, machine = markdown_text(_title(edited_draft)), markdown_text(chosen_host() or THIS_MACHINE)
    st.caption(f"This sweep varies the configuration under Configure and launch: {title}, on {machine}.")
    try:
        axes = _read_axes(edited_draft.config)
        variants = sweep_configs(edited_draft.config, axes) if axes else []
        load = _load(edited_draft)
        loads = _vary_load(load)
    except (CommandError, PlanError) as problem:
        st.error(markdown_text(str(problem)))
        return
    typed_secrets = {
        n: st.text_input(f"{n} (secret, not stored) ", type="password") for n in edited_draft.missing_secrets
    }
    if not variants and len(loads) == 1:
        st.caption("The plan appears here, with every run and its command, before anything starts.")
        return
    sweep_runs = _sweep_runs(variants or [SweepVariant("", edited_draft.config)], loads)
    _show_plan(edited_draft.config, sweep_runs, load)
    count = len(sweep_runs) * load.repeats
    if count > MOST_RUNS:
        st.error(f"{count} runs exceed the limit of a sweep ({MOST_RUNS}).")
        return
    if st.button(f"Queue these {count} runs", type="primary", disabled=bool(edited_draft.still_required)):
        _queue(edited_draft, sweep_runs, load, {**edited_draft.secrets_in_use, **typed_secrets})


def _load(edited_draft: LaunchDraft) -> LaunchLoad:
    left_column, right_column = st.columns(2)
    repeats = right_column.number_input("Repeats, in rounds", 1, MOST_REPEATS, SUGGESTED_REPEATS, key="sweep-repeats")
    proposed = edited_draft.proposed_workload
    proposal = SavedLoad(workload=proposed, params=edited_draft.load_params(proposed))
    key = f"sweep-load-{edited_draft.origin}-{proposed}"
    selected = choose_workload(proposal, key, "Workload of every run", container=left_column)
    return LaunchLoad(selected.workload, int(repeats), selected.params)


def _sweep_runs(variants: Sequence[SweepVariant], loads: Sequence[LoadVariant]) -> list[SweepRun]:
    """Combine every configuration with every load; the load varies fastest."""
    combinations = itertools.product(variants, loads)
    return [
        SweepRun(", ".join(filter(None, (variant.name, load.name))), variant.config, load.params)
        for variant, load in combinations
    ]


def _title(edited_draft: LaunchDraft) -> str:
    return edited_draft.origin or (
        edited_draft.config.model if edited_draft.config and edited_draft.config.model else "the pasted command"
    )


def _read_axes(config: Config) -> list[Axis]:
    """Return the selected fields with their values. Raises ValueError for invalid values."""
    labels = {
        field.path: label_of(config, field)
        for fields in groups_of(config).values()
        for field in fields
        if field.kind in SWEEPABLE_KINDS and field.path not in NOT_SWEEPABLE
    }
    axes = []
    for number, example in enumerate(("0..7", "auto, fp8")):
        left_column, right_column = st.columns([2, 3])
        label = "Vary" if number == 0 else "And vary"
        path = left_column.selectbox(
            label,
            list(labels),
            index=None,
            format_func=lambda path: labels[path].replace("`", ""),
            placeholder="a field",
            key=f"sweep-field-{number}",
        )
        text = right_column.text_input(
            "Values" if number == 0 else "Its values",
            placeholder=f'{example}, or "none" to leave the flag out',
            key=f"sweep-values-{number}",
        )
        if path and text.strip():
            axes.append(Axis(path, read_values(path, text)))
    return axes


def _show_plan(base: Config, sweep_runs: Sequence[SweepRun], load: LaunchLoad) -> None:
    st.subheader("The plan")
    count = len(sweep_runs) * load.repeats
    time_estimate = estimate(count, load.workload, services().store.runs(limit=KNOWN_RUNS), base)
    time_text = f"about {duration(time_estimate.seconds)}" if time_estimate.seconds is not None else "time not known"
    noun = (
        "configurations"
        if len({sweep_run.config.fingerprint for sweep_run in sweep_runs}) == len(sweep_runs)
        else "combinations"
    )
    st.markdown(
        f"{len(sweep_runs)} {noun}, {load.repeats} × each: **{count} runs**, {time_text} ({time_estimate.basis})."
    )
    st.caption(
        cost_text(load, len(sweep_runs)) + f" Each round runs all {noun} once, every second round in reverse order."
    )
    rows = [
        [str(number), markup.text(sweep_run.name), _changed_fields(base, sweep_run.config)]
        for number, sweep_run in enumerate(sweep_runs, start=1)
    ]
    st.html(markup.table(["", "Run", "Changes"], rows))
    with st.expander("Every command"):
        for sweep_run in sweep_runs:
            st.caption(markdown_text(sweep_run.name))
            st.code(shell_text(sweep_run.config.argv), language="bash", wrap_lines=True)


def _changed_fields(base: Config, config: Config) -> str:
    changed = differing_fields([version.model_dump(mode="json", exclude={"argv"}) for version in (base, config)])
    return markup.text(", ".join(changed) or "nothing")


def _queue(
    edited_draft: LaunchDraft, sweep_runs: Sequence[SweepRun], load: LaunchLoad, secrets: dict[str, str]
) -> None:
    require_operator()
    requests = [
        LaunchRequest(
            config=sweep_run.config,
            name=sweep_run.name,
            workload=spec_for(load.workload, sweep_run.params),
            secrets={name: value for name, value in secrets.items() if value},
            makes_model=edited_draft.makes_model,
            on_host=chosen_host(),
        )
        for sweep_run in sweep_runs
    ]
    try:
        runs = services().supervisor.launch_batch(
            repeat_requests(requests, load.repeats, new_seed()), one_after_the_other=True
        )
    except LaunchRefusedError as refusal:
        st.error(markdown_text(str(refusal)))
        return
    audit.record("launch", [run.id for run in runs], "a sweep")
    st.switch_page(page_paths.RUNS)


def _vary_load(load: LaunchLoad) -> list[LoadVariant]:
    """Return the loads to run on every configuration. Raises CommandError or PlanError for invalid values."""
    left_column, right_column = st.columns([2, 3])
    key = f"sweep-load-param-{load.workload}"
    names = variable_params(load.workload)
    name = left_column.selectbox(
        "And vary a load parameter", names, index=None, format_func=field_title, placeholder="a parameter", key=key
    )
    text = right_column.text_input("Values of the load parameter", placeholder="1, 2, 4..8", key=f"{key}-values")
    if not name or not text.strip():
        return [LoadVariant("", load.params)]
    values = read_words(name, text, lambda word: read_param(load.workload, name, word))
    return load_variants(load.workload, load.params, name, values)
