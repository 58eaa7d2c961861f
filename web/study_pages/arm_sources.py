"""The sources of a study's arms: earlier runs, presets and pasted commands."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from analysis.comparison.config_diff import chips
from commands.explain import explain
from commands.presets import SHIPPED, read_presets
from commands.study_file import ArmText
from commands.study_workloads import WorkloadText
from domain import Config, JsonValue, Run
from reports.runs.run_report import engine_title_of
from web.context import services
from web.launch.draft import text_of
from web.picker import run_labels
from workloads import REGISTRY, default_params

MAX_RUNS = 100
MAX_NAME = 80  # characters; as commands.study_workloads.Name
REPEAT = re.compile(r"\s*#\d+$")


class ArmSource(NamedTuple):
    """A configuration that can be ticked as an arm, with the workload of its run."""

    name: str
    config: Config
    host: str | None = None
    workload: WorkloadText | None = None

    @property
    def command(self) -> str:
        return text_of(self.config)

    @property
    def arm(self) -> ArmText:
        """The arm that starts it again where it ran; the engine is stated if the command does not show it."""
        config = explain(self.command).config
        engine = None if config and config.engine == self.config.engine else self.config.engine
        return ArmText(name=self.name[:MAX_NAME], command=self.command, engine=engine, host=self.host)


def arm_sources() -> dict[str, ArmSource]:
    """Return label -> arm: earlier runs, then presets."""
    presets = read_presets([SHIPPED, services().settings.presets_dir]).presets.values()
    return run_sources() | {f"Preset: {preset.name}": ArmSource(preset.name, preset.launchable) for preset in presets}


def run_sources() -> dict[str, ArmSource]:
    """Return label -> arm of the newest run of each configuration and machine."""
    newest: dict[tuple[str, str | None], Run] = {}
    for run in services().store.runs(limit=MAX_RUNS):
        if run.config.argv:
            newest.setdefault((run.config.fingerprint, run.on_host), run)
    labels = run_labels(list(newest.values()))
    return {labels[run.id]: source_of_run(run) for run in newest.values()}


def source_of_run(run: Run) -> ArmSource:
    """Return a run's configuration, machine and workload."""
    spec = run.workload if run.workload and run.workload.name in REGISTRY else None
    workload = WorkloadText(name=spec.name, params=stated_params(spec.name, spec.params)) if spec else None
    return ArmSource(run.arm or REPEAT.sub("", run.name), run.config, run.on_host, workload)


def stated_params(workload: str, params: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the parameters that are not at their defaults."""
    defaults = default_params(workload)
    return {name: value for name, value in params.items() if value != defaults.get(name)}


def arm_of_command(command: str, names: Collection[str]) -> ArmText:
    """Return a pasted command as an arm, named after its main settings and unlike `names`."""
    config = explain(command).config
    title = " ".join(chips(config.model_dump(), engine_title_of(config.engine))) if config else "arm"
    return with_own_name(ArmText(name=title[:MAX_NAME], command=command), names)


def with_own_name(arm: ArmText, names: Collection[str]) -> ArmText:
    """Return the arm under a name that no other has: 'plain', 'plain (2)'."""
    number, name = 1, arm.name
    while name in names:
        number += 1
        name = f"{arm.name[: MAX_NAME - 5]} ({number})"
    return arm.model_copy(update={"name": name})


def with_arms(arms: Sequence[ArmText], more: Sequence[ArmText]) -> list[ArmText]:
    """Return the arms and further ones, whose names are made unlike."""
    all_arms = list(arms)
    for arm in more:
        all_arms.append(with_own_name(arm, {other.name for other in all_arms}))
    return all_arms


def ticked_labels(sources: Mapping[str, ArmSource], arms: Sequence[ArmText]) -> list[str]:
    """Return the labels of the sources that are arms already, by their command and machine."""
    present = {(arm.command, arm.host) for arm in arms}
    return [label for label, source in sources.items() if (source.command, source.host) in present]
