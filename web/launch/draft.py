"""The configuration being edited on the Launch page: one Config behind two views, command text and form."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, field, replace

import streamlit as st

from commands.explain import Explanation, explain_with_secrets
from commands.gpus import CONTAINER_LAUNCHERS
from commands.presets import Needs, Preset
from commands.secrets import (
    as_words,
    mask_env,
    missing_secrets,
    places_of,
    references_of,
    values_of,
    variables_of,
)
from commands.write import CommandError, command_of, shell_text
from domain import OTHER_ENGINE, WATCH, Config, JsonValue, Run, WorkloadSpec
from engines import BY_NAME
from load_records import AGENT_TASK
from web.launch.config_fields import ConfigField, FieldValue, value_of, with_value
from web.launch.host_choice import propose_host
from workloads import REGISTRY
from workloads.shapes.five_prompts import FIVE_PROMPTS
from workloads.shapes.stream import DEMO_STREAM

TEXT_KEY = "pasted"
AS_IS_KEY = "as-is"
DEMO = ["-m", "demo", "serve"]  # creates its own model file


@dataclass
class LaunchDraft:
    """The draft of this browser session; secrets stay in memory and are passed only to the launch."""

    config: Config | None = None
    text: str = ""
    explanation: Explanation = field(default_factory=Explanation)
    origin: str | None = None  # 'the preset A', 'the run X'
    about: str = ""  # the preset's description
    workload: WorkloadSpec | None = None  # of the run that it was taken from
    later_workloads: tuple[WorkloadSpec, ...] = ()  # further ones of that run, on the same server start
    base: Config | None = None  # the configuration as taken from there, before edits
    needs: Needs = field(default_factory=Needs)
    inferred: dict[str, str] = field(default_factory=dict)
    required: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    problem: str | None = None  # what is wrong with the last edit
    generation: int = 0  # part of widget keys: a new one recreates the form

    def load_params(self, workload: str) -> dict[str, JsonValue]:
        """Return the source run's parameters if it has the same workload."""
        return dict(self.workload.params) if self.workload and self.workload.name == workload else {}

    @property
    def proposed_workload(self) -> str:
        """The name of the source run's load, or else of one that suits the server."""
        if self.workload and self.workload.name in (WATCH.name, AGENT_TASK, *REGISTRY):
            return self.workload.name
        if self.makes_model:
            return DEMO_STREAM.name
        serves_chat = self.config is not None and self.config.engine in BY_NAME
        return FIVE_PROMPTS.name if serves_chat else WATCH.name

    @property
    def makes_model(self) -> bool:
        return self.config is not None and list(self.config.argv[1:4]) == DEMO

    @property
    def is_as_it_is(self) -> bool:
        """Whether the words are run without being parsed."""
        return self.config is not None and self.config.engine == OTHER_ENGINE

    @property
    def secrets_in_use(self) -> dict[str, str]:
        """The secrets that the command still uses; one that was edited out reaches no server."""
        if self.config is None:
            return {}
        names_in_command = {*places_of(self.config), *references_of(self.config)}
        return {name: value for name, value in self.secrets.items() if name in names_in_command}

    @property
    def missing_secrets(self) -> list[str]:
        """The names of the secrets whose values the launch still needs."""
        return missing_secrets(self.config, {**os.environ, **self.secrets}) if self.config else []

    @property
    def still_required(self) -> dict[str, str]:
        """Field -> reason of the settings that the preset requires and that are still missing."""
        config = self.config
        return {
            path: reason
            for path, reason in self.required.items()
            if config and value_of(config, ConfigField(path, path)) in (None, "")
        }


def current() -> LaunchDraft:
    """Return this session's draft; restore its text in the box when the user returns to the page."""
    draft: LaunchDraft = st.session_state.setdefault("draft", LaunchDraft())
    st.session_state.setdefault(TEXT_KEY, draft.text)
    st.session_state.setdefault(AS_IS_KEY, draft.is_as_it_is)
    return draft


def text_of(config: Config) -> str:
    """Return the command as a person would paste it: a process's environment comes first."""
    env = {} if config.launcher in CONTAINER_LAUNCHERS or config.image else config.env
    return shell_text(config.argv, env)


def read_text() -> None:
    """Parse the edited text box and update the form."""
    text = st.session_state[TEXT_KEY]
    explanation, secrets = explain_with_secrets(text) if text.strip() else (Explanation(), {})
    draft = (
        current() if _is_edit_of(current().base, explanation.config) else LaunchDraft(generation=current().generation)
    )
    if _is_edit_of(current().config, explanation.config):
        secrets = variables_of(current().secrets) | secrets  # under the names in the form's text
    _set_current(
        replace(draft, config=explanation.config, text=text, explanation=explanation, secrets=secrets, problem=None)
    )


def read_pending_text() -> None:
    """Parse the text box if its change has not been read yet."""
    if st.session_state[TEXT_KEY] != current().text:
        read_text()


def _is_edit_of(base: Config | None, config: Config | None) -> bool:
    """Whether the text is an edit of the source and not another command pasted over it."""
    return base is not None and config is not None and (base.engine, base.launcher) == (config.engine, config.launcher)


def read_as_it_is() -> None:
    """Accept any program: split its words as a shell would, without running a shell."""
    if not st.session_state[AS_IS_KEY]:
        read_text()
        return
    draft = current()
    try:
        argv = shlex.split(draft.text.replace("\\\n", " "))
    except ValueError as problem:
        draft.problem = f"The command cannot be split into words: {problem}."
        return
    draft.config = Config(engine=OTHER_ENGINE, executable=argv[0], argv=tuple(argv))
    draft.generation += 1


def start_from_config(
    config: Config, origin: str, preset: Preset | None = None, workload: WorkloadSpec | None = None
) -> None:
    """Start the draft from an existing configuration."""
    new_draft = LaunchDraft(config, text_of(config), origin=origin, base=config, workload=workload)
    if preset:
        new_draft.about, new_draft.needs = preset.about, preset.needs
        new_draft.inferred, new_draft.required = dict(preset.inferred), dict(preset.required)
    _set_current(new_draft)


def start_from_run(run: Run) -> None:
    """Start the draft from a run: its configuration, all its loads, and its host."""
    start_from_config(run.config, f"the run {run.name}", workload=run.workload)
    current().later_workloads = run.later_workloads
    propose_host(run.on_host)


def _set_current(draft: LaunchDraft) -> None:
    draft.generation = current().generation + 1
    st.session_state["draft"] = draft
    st.session_state[TEXT_KEY] = draft.text
    st.session_state[AS_IS_KEY] = draft.is_as_it_is


def edit_field(field: ConfigField, value: FieldValue) -> None:
    """Apply one edited form field to the command and show that in the text box."""
    draft = current()
    assert draft.config
    draft.problem = None
    try:
        config = with_value(draft.config, field, read_variables(draft, value) if field.kind == "variables" else value)
        draft.config = config.model_copy(update={"argv": tuple(command_of(config))})
    except (CommandError, ValueError) as problem:
        draft.problem = str(problem)
        return
    draft.text = st.session_state[TEXT_KEY] = text_of(draft.config)


def read_variables(draft: LaunchDraft, text: FieldValue) -> dict[str, str]:
    """Parse NAME=value lines; literal secrets move into the draft."""
    variables = read_environment(str(text or ""))
    draft.secrets |= values_of(as_words(variables))
    return mask_env(variables)


def read_environment(text: str) -> dict[str, str]:
    """Parse NAME=value lines. Raises CommandError that names the invalid line."""
    lines = [line.strip().removeprefix("export ") for line in text.splitlines()]
    pairs = [line.partition("=") for line in lines if line and not line.startswith("#")]
    for name, separator, _ in pairs:
        if not separator or not name.isidentifier():
            raise CommandError(f"'{name}' is not a NAME=value line.")
    return {name: value.strip("\"'") for name, _, value in pairs}
