"""Configurations from a command, a log and a machine: every setting, and nothing that only names a place."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from analysis.runs.conditions import Conditions
from analysis.runs.effective_config import EffectiveRow
from domain import Config, Run, RunState, Speculation
from reports.arms.served_config import (
    command_of,
    engine_version,
    gpu_limits_of,
    gpus_of,
    model_files,
    served_by,
    settings_of,
    speculates,
)

NOW = datetime(2026, 11, 20, tzinfo=UTC)


def launched(provenance: dict[str, Any] | None = None, **config: Any) -> Run:
    fields = {"engine": "vllm", "model": "org/model", "argv": ("vllm", "serve", "org/model")} | config
    return Run(
        id="r", name="r", color=0, state=RunState.FINISHED, config=Config(**fields), machine_id="m1", created_at=NOW,
        provenance=provenance,
    )  # fmt: skip


def effective_row(field: str, value: Any) -> EffectiveRow:
    return EffectiveRow(field, None, value, 1, False)


def settings(*rows: EffectiveRow, **config: Any) -> dict[str, Any]:
    return settings_of(launched(**config).config, rows)


@pytest.mark.parametrize("name", ["CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "MASTER_PORT", "PORT"])
def test_gpu_index_and_port_are_no_setting(name: str) -> None:
    """The launcher itself puts runs side by side on GPU 0 and GPU 1."""
    assert settings(env={name: "0"}, port=8000) == settings(env={name: "1"}, port=8001, host="0.0.0.0")


def test_another_variable_is_a_setting() -> None:
    assert settings(env={"VLLM_USE_X": "1"})["env.VLLM_USE_X"] == "1" and settings() == {}


def test_every_speculative_key_counts() -> None:
    def drafting(most: int) -> dict[str, Any]:
        spec = Speculation(method="ngram", num_tokens=4, options={"prompt_lookup_max": most})
        return settings(speculative=spec)

    assert drafting(2) != drafting(4)
    assert drafting(4)["speculative.options.prompt_lookup_max"] == 4


def test_log_settings_override_the_requested() -> None:
    rows = (
        effective_row("max_model_len", 8192),
        effective_row("kv_cache_dtype", None),
        effective_row("port", 1),
        effective_row("kv_cache_tokens", 5),
    )
    actual_settings = settings(
        *rows, effective_row("attention_backend", "FA3"), max_model_len=4096, kv_cache_dtype="fp8"
    )
    assert actual_settings == {"max_model_len": 8192, "kv_cache_dtype": "fp8", "attention_backend": "FA3"}


def test_memory_as_its_log_reports_it() -> None:
    served = served_by(
        launched(), (effective_row("model_load_gib", 18.5), effective_row("kv_cache_tokens", 410_000)), ()
    )
    assert (served.weights_gib, served.kv_cache_tokens) == (18.5, 410_000)
    assert (
        served_by(
            launched(), (effective_row("model_load_gb", 15.0), effective_row("kv_cache_tokens", "x")), ()
        ).weights_gib
        == 15.0
    )
    assert served_by(launched(), (), ()).kv_cache_tokens is None


def test_the_models_sampling_is_a_setting() -> None:
    row = effective_row("default_sampling", {"repetition_penalty": 1.3, "temperature": 1.0})
    assert settings(row) == {"sampling.repetition_penalty": 1.3, "sampling.temperature": 1.0}
    flag = '--override-generation-config {"temperature":0.5}'
    assert settings(row, unknown_flags=[flag])["sampling.temperature"] == 1.0, "as the log prints it in the end"


def test_forced_acceptance_wherever_it_is_set() -> None:
    variable = {"SGLANG_SIMULATE_ACC_LEN": "3.5"}
    by_command = launched(engine="sglang", env=variable)
    inherited = launched({"environment": variable}, engine="sglang")
    for run, rows in (
        (by_command, ()),
        (inherited, ()),
        (launched(), (effective_row("forced_acceptance", "by its log"),)),
    ):
        assert served_by(run, rows, ()).forced_acceptance in ("SGLANG_SIMULATE_ACC_LEN=3.5", "by its log")
    contained = launched({"environment": variable}, engine="sglang", image="x")
    assert served_by(contained, (), ()).forced_acceptance is None, "a container inherits nothing"
    assert served_by(launched(), (), ()).forced_acceptance is None


def test_flags_and_volumes_count_except_caches() -> None:
    actual_settings = settings(unknown_flags=["--x", "--y 2"], volumes=["/a:/a", "/root/.cache/hf:/hf", "/tmp/z:/z"])
    assert actual_settings == {"--x": "set", "--y": "2", "volumes": "/a:/a"}


def test_a_command_without_its_address() -> None:
    argv = ["serve", "m", "--port", "8000", "--host=::", "--name", "n", "--x-port=3", "--max-len", "5", "--port"]
    assert command_of(argv) == ("serve", "m", "--max-len", "5")


def test_whether_a_server_drafts() -> None:
    log = effective_row("speculative.method", "mtp")
    assert speculates(launched(speculative=Speculation(num_tokens=4)), ()) is True
    assert speculates(launched(argv=()), (log,)) is True, "an attached server whose log says so"
    assert speculates(launched(), ()) is False
    assert speculates(launched(argv=()), (effective_row("speculative.method", None),)) is None
    assert speculates(launched(engine="other"), ()) is None


def test_version_from_log_config_and_package() -> None:
    packaged = launched({"package": "vllm 0.33.0"})
    assert engine_version(packaged) == "0.33.0" and engine_version(launched()) is None
    assert engine_version(launched({"package": "vllm 0.33.0"}, engine_version="0.34")) == "0.34"
    logged = packaged.model_copy(update={"logged_facts": {"engine_version": "0.35"}})
    assert engine_version(logged) == "0.35", "what serves says it itself"


WEIGHTS = {"files": 1, "bytes": 9, "sha256_of_headers": "h", "sha256_of_samples": "s"}


def test_model_files_are_known_all_or_not_at_all() -> None:
    def of(weights: Any = WEIGHTS, **files: Any) -> str | None:
        return model_files({"model": {"files": files, "weights": weights}})

    text = of(a={"sha256": "x"}, b={"sha256": "y"})
    assert text is not None and text == of(b={"sha256": "y"}, a={"sha256": "x"}) != of(a={"sha256": "x"})
    assert of() not in (None, text), "a single file has no configuration beside it"
    assert text != of({**WEIGHTS, "bytes": 8}, a={"sha256": "x"}, b={"sha256": "y"})
    assert of(a={"sha256": "x"}, b={}) is None and model_files({}) is None
    assert of(None, a={"sha256": "x"}) is None, "equal configuration files show nothing of the weights"


def test_gpus_as_sampled_else_as_frozen() -> None:
    frozen = {"gpus": [{"name": "B"}, {"name": "A"}]}
    sampled = [Conditions("r"), Conditions("r", gpu_names=("H", "G"))]
    assert gpus_of(frozen, sampled) == ("G", "H") and gpus_of(frozen, ()) == ("A", "B")
    assert gpus_of({"gpus": []}, ()) == () and gpus_of({}, ()) is None


def test_unknown_server_has_unknown_config() -> None:
    bare = launched(argv=(), model=None)
    assert not served_by(bare, (), ()).is_configuration_known
    logged = served_by(bare, (effective_row("model", "org/x"),), ())
    assert logged.is_configuration_known and logged.model == "org/x"
    assert served_by(launched(), (), ()).command == ("vllm", "serve", "org/model")


def test_unread_commands_differ_by_their_words() -> None:
    def paced(step_ms: int, port: int, engine: str) -> dict[str, object]:
        argv = ("server", "--port", str(port), "--step-ms", str(step_ms))
        return settings_of(Config(engine=engine, argv=argv, port=port), ())

    for engine in ("other", "vllm"):
        assert paced(10, 8000, engine) == paced(10, 9000, engine) != paced(8, 8000, engine)
    assert "command" not in settings(argv=("vllm", "serve", "org/model"), model="org/model")


def frozen(index: int, **values: Any) -> dict[str, Any]:
    return {"index": index, "uuid": f"GPU-{index}", "power_limit_w": 700.0, "mig": False} | values


def test_limits_are_those_of_the_runs_own_gpus() -> None:
    provenance = {"gpus": [frozen(0), frozen(1, power_limit_w=300.0, mig=None)]}
    assert gpu_limits_of(provenance, []) == {"power_limit_w": (300.0, 700.0), "mig": (False, None)}
    on_the_second = Conditions("r", gpu_uuids=("GPU-1",))
    assert gpu_limits_of(provenance, [on_the_second]) == {"power_limit_w": (300.0,), "mig": (None,)}
    assert gpu_limits_of({}, []) == {}
    assert gpu_limits_of(provenance | {"driver_version": "580.65"}, [])["driver"] == ("580.65",)
    assert gpu_limits_of({"gpus": [], "driver_version": None}, []) == {}


def test_the_power_limit_is_that_under_the_load() -> None:
    """Somebody may have lowered it after the start."""
    conditions = [Conditions("r", gpu_uuids=("GPU-0",), power_limits_w=(watts,)) for watts in (350.0, 400.0)]
    assert gpu_limits_of({"gpus": [frozen(0)]}, conditions)["power_limit_w"] == (350.0, 400.0)
    assert gpu_limits_of({}, conditions) == {"power_limit_w": (350.0, 400.0)}, "an attached server's"


def test_a_run_is_served_with_its_limits() -> None:
    assert served_by(launched({"gpus": [frozen(0)]}), [], []).gpu_limits == {"power_limit_w": (700.0,), "mig": (False,)}


def test_what_is_no_limit_is_not_told() -> None:
    odd = {
        "uuid": "x",
        "mig": [1],
        "ecc": {},
        "power_limit_w": "300",
        "application_clock_mhz": float("nan"),
        "persistence": 7,
    }
    fields = {"uuid": "y", "mig": False, "power_limit_w": 300}
    gpu_limits = gpu_limits_of({"gpus": [odd], "driver_version": ["580"]}, [])
    assert gpu_limits == dict.fromkeys(("mig", "ecc", "power_limit_w", "application_clock_mhz", "persistence"), (None,))
    assert gpu_limits_of({"gpus": [fields]}, []) == {"mig": (False,), "power_limit_w": (300,)}
