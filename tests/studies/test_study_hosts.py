"""Arms on other machines: launched there, and told as whole systems where the machines differ."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from analysis.guard import RowCode
from commands.study_change import with_values
from commands.study_file import ACCURACY, SOLVED, USERS_HELD, StudyFileError, study_of_text
from domain import Config, Run, RunState, Study
from reports.arms.report_data import study_options
from studies.runner import StudyRunner
from studies.systems import machine_warnings
from tests.studies.test_study_file import ONE_ARM, WHICH
from workloads import spec_for

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
ON_HOST = WHICH.replace('name = "b"', 'name = "b"\nhost = "gpu-box"')


def run_on(machine: str, gpu: str | None, host: str | None = None) -> Run:
    provenance = {"host": {"cpu": "a CPU"}, "gpus": [{"name": gpu}] if gpu else [], "on_host": host}
    return Run(
        id=f"r-{machine}", name="n", color=0, config=Config(), machine_id=machine, created_at=NOW,
        state=RunState.FINISHED, provenance=provenance,
    )  # fmt: skip


def test_each_arm_is_launched_on_its_host() -> None:
    plan = study_of_text(ON_HOST, "w")
    spec = spec_for(plan.workload, plan.params)
    hosts = {arm.name: StudyRunner._request(plan, arm, [spec], 1).on_host for arm in plan.arms}
    assert hosts == {"a": None, "b": "gpu-box"}


@pytest.mark.parametrize(("text", "declared"), [(ON_HOST, {RowCode.HARDWARE}), (WHICH, set())])
def test_named_hosts_compare_machines_on_purpose(text: str, declared: set[RowCode]) -> None:
    plan = study_of_text(text, "w").model_dump(mode="json")
    study = Study(id="s", title="t", question="which", created_at=NOW, updated_at=NOW, plan=plan)
    assert study_options(study).declared == declared


@pytest.mark.parametrize("result", [ACCURACY, SOLVED, USERS_HELD])
def test_results_that_no_request_has_are_no_objective_of_compare(result: str) -> None:
    plan = study_of_text(WHICH, "w").model_dump(mode="json") | {"objective": result}
    study = Study(id="s", title="t", question="which", created_at=NOW, updated_at=NOW, plan=plan)
    assert study_options(study).objective is None


def test_the_values_of_one_arm_are_on_its_host() -> None:
    text = ONE_ARM.replace("[[arm]]", '[[arm]]\nhost = "gpu-box"', 1)
    plan = with_values(study_of_text(f'{text}[[vary]]\nfield = "max_num_seqs"\nvalues = [1, 2]\n', "v"), "4")
    assert [arm.host for arm in plan.arms] == ["gpu-box"] * 3


def test_what_is_no_label_of_a_host_is_refused() -> None:
    with pytest.raises(StudyFileError, match="host"):
        study_of_text(ON_HOST.replace("gpu-box", "-oProxyCommand=x"), "w")


def test_arms_on_several_machines_are_systems() -> None:
    run, there = run_on("m1", "H100"), run_on("m2", "H200", "gpu-box")
    (machine_warning,) = machine_warnings({"a": [run], "b": [there]})
    assert machine_warning.startswith(
        "The arms ran on different hardware (a: 1 \u00d7 H100 on this machine; b: 1 \u00d7 H200 on gpu-box)"
    )
    assert "machine and settings together" in machine_warning
    (alike,) = machine_warnings({"a": [run], "b": [run_on("m2", "H100", "gpu-box")]})
    assert "several identical machines" in alike
    assert machine_warnings({"a": [run], "b": [run_on("m1", "H100")], "c": []}) == []


def noted(machine: str, cpu: str | None, gpus: list[str] | None) -> Run:
    frozen = {} if gpus is None else {"gpus": [{"name": name} for name in gpus]}
    return run_on(machine, None).model_copy(update={"provenance": {"host": {"cpu": cpu}, **frozen}})


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (("a CPU", []), ("a CPU", []), "several identical machines"),
        (("a CPU", ["H100"]), ("another", ["H100"]), "different hardware"),
        ((None, ["H100"]), (None, ["H200"]), "different hardware"),
        ((None, ["H100"]), (None, ["H100"]), "several machines, some with unknown hardware"),
        (("a CPU", None), ("a CPU", None), "several machines, some with unknown hardware"),
        ((None, []), ("a CPU", []), "several machines, some with unknown hardware"),
    ],
)
def test_hardware_that_is_not_known_is_no_kind(
    one: tuple[str | None, list[str] | None], other: tuple[str | None, list[str] | None], kind: str
) -> None:
    (machine_warning,) = machine_warnings({"a": [noted("m1", *one)], "b": [noted("m2", *other)]})
    assert machine_warning.startswith(f"The arms ran on {kind} (")
    assert ("unknown hardware on" in machine_warning) is ((None, []) in (one, other))
