"""The configuration being edited on the Launch page: one Config behind two views, the command's text and the form."""

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
from domain import WATCH, Config, JsonValue, Run, WorkloadSpec
from engines import BY_NAME
from web.launch.config_fields import Field, Value, value_of, with_value
from web.launch.host_choice import start_from
from workloads import REGISTRY
from workloads.shapes.five_prompts import FIVE_PROMPTS
from workloads.shapes.stream import DEMO_STREAM

TEXT_KEY = "pasted"
AS_IS_KEY = "as-is"
DEMO = ["-m", "demo", "serve"]  # makes its model file itself


@dataclass
class Draft:
    """What is edited in this browser session; secrets are held here in memory and go nowhere but into the launch."""

    config: Config | None = None
    text: str = ""
    explanation: Explanation = field(default_factory=Explanation)
    origin: str | None = None  # 'the preset A', 'the run X'
    about: str = ""  # what the preset says of itself
    workload: WorkloadSpec | None = None  # the one of the run that it was taken from
    later_workloads: tuple[WorkloadSpec, ...] = ()  # of that run, on the same start of its server
    base: Config | None = None  # the configuration as it was taken from there
    needs: Needs = field(default_factory=Needs)
    inferred: dict[str, str] = field(default_factory=dict)
    required: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    problem: str | None = None  # what is wrong with the last edit
    generation: int = 0  # the form's widgets are made anew with each

    def load_params(self, workload: str) -> dict[str, JsonValue]:
        """The parameters of the run that it was taken from, for the same workload again."""
        return dict(self.workload.params) if self.workload and self.workload.name == workload else {}

    @property
    def proposed_workload(self) -> str:
        """The name of the load of the run that it was taken from, else of one that its server can be put under."""
        if self.workload and self.workload.name in (WATCH.name, *REGISTRY):
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
        """The words are run without being understood."""
        return self.config is not None and self.config.engine == "other"

    @property
    def secrets_in_use(self) -> dict[str, str]:
        """Those whose place is still in the command: what was edited out of it reaches no server."""
        if self.config is None:
            return {}
        used = {*places_of(self.config), *references_of(self.config)}
        return {name: value for name, value in self.secrets.items() if name in used}

    @property
    def missing_secrets(self) -> list[str]:
        """The secrets whose value has to be given with the launch."""
        return missing_secrets(self.config, {**os.environ, **self.secrets}) if self.config else []

    @property
    def still_required(self) -> dict[str, str]:
        """What the preset leaves to the user and is not stated yet."""
        config = self.config
        return {
            path: why
            for path, why in self.required.items()
            if config and value_of(config, Field(path, path)) in (None, "")
        }


def current() -> Draft:
    """This session's draft; its text is put back into the box when the page is come back to."""
    draft: Draft = st.session_state.setdefault("draft", Draft())
    st.session_state.setdefault(TEXT_KEY, draft.text)
    st.session_state.setdefault(AS_IS_KEY, draft.is_as_it_is)
    return draft


def text_of(config: Config) -> str:
    """The command as a person would paste it: a process's environment stands before it."""
    env = {} if config.launcher in CONTAINER_LAUNCHERS or config.image else config.env
    return shell_text(config.argv, env)


def read_text() -> None:
    """The text box was edited: read it, and make the form say it."""
    text = st.session_state[TEXT_KEY]
    explanation, secrets = explain_with_secrets(text) if text.strip() else (Explanation(), {})
    draft = current() if _is_edit_of(current().base, explanation.config) else Draft(generation=current().generation)
    if _is_edit_of(current().config, explanation.config):
        secrets = variables_of(current().secrets) | secrets  # under the names that the form's text gave them
    _put(replace(draft, config=explanation.config, text=text, explanation=explanation, secrets=secrets, problem=None))


def _is_edit_of(base: Config | None, config: Config | None) -> bool:
    """Whether a text is still that of the source, edited, and not another command pasted over it."""
    return base is not None and config is not None and (base.engine, base.launcher) == (config.engine, config.launcher)


def read_as_it_is() -> None:
    """Any program at all, its words split as a shell would and never given to one."""
    if not st.session_state[AS_IS_KEY]:
        read_text()
        return
    draft = current()
    try:
        words = shlex.split(draft.text.replace("\\\n", " "))
    except ValueError as problem:
        draft.problem = f"The words cannot be told apart: {problem}."
        return
    draft.config = Config(engine="other", executable=words[0], argv=tuple(words))
    draft.generation += 1


def take(config: Config, origin: str, preset: Preset | None = None, workload: WorkloadSpec | None = None) -> None:
    """Start from a configuration that is there already."""
    new = Draft(config, text_of(config), origin=origin, base=config, workload=workload)
    if preset:
        new.about, new.needs = preset.about, preset.needs
        new.inferred, new.required = dict(preset.inferred), dict(preset.required)
    _put(new)


def take_run(run: Run) -> None:
    """Start from a run: its configuration, all its loads, and the host that it was started on."""
    take(run.config, f"the run {run.name}", workload=run.workload)
    current().later_workloads = run.later_workloads
    start_from(run.on_host)


def _put(draft: Draft) -> None:
    draft.generation = current().generation + 1
    st.session_state["draft"] = draft
    st.session_state[TEXT_KEY] = draft.text
    st.session_state[AS_IS_KEY] = draft.is_as_it_is


def edit(field: Field, value: Value) -> None:
    """One field was edited in the form: say it in the command, and show that in the text box."""
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


def read_variables(draft: Draft, text: Value) -> dict[str, str]:
    """NAME=value lines, literal secrets taken out of them into the draft."""
    found = read_environment(str(text or ""))
    draft.secrets |= values_of(as_words(found))
    return mask_env(found)


def read_environment(text: str) -> dict[str, str]:
    """NAME=value lines; raises CommandError that names the line which is none."""
    lines = [line.strip().removeprefix("export ") for line in text.splitlines()]
    pairs = [line.partition("=") for line in lines if line and not line.startswith("#")]
    for name, equals, _ in pairs:
        if not equals or not name.isidentifier():
            raise CommandError(f"'{name}' is no NAME=value line of an environment.")
    return {name: value.strip("\"'") for name, _, value in pairs}
