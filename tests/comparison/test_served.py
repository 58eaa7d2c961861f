"""What of a command, a log and a machine makes a configuration: every setting, and nothing that only names a place."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from analysis.conditions import Conditions
from analysis.effective import Row
from domain import Config, Run, RunState, Speculation
from reports.served import command_of, engine_version, gpus_of, model_files, served_by, settings_of, speculates

NOW = datetime(2026, 11, 20, tzinfo=UTC)


def launched(provenance: dict[str, Any] | None = None, **config: Any) -> Run:
    whole = {"engine": "vllm", "model": "org/model", "argv": ("vllm", "serve", "org/model")} | config
    return Run(
        id="r", name="r", color=0, state=RunState.FINISHED, config=Config(**whole), machine_id="m1", created_at=NOW,
        provenance=provenance,
    )  # fmt: skip


def told(field: str, value: Any) -> Row:
    return Row(field, None, value, 1, False)


def settings(*rows: Row, **config: Any) -> dict[str, Any]:
    return settings_of(launched(**config).config, rows)


@pytest.mark.parametrize("name", ["CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "MASTER_PORT", "PORT"])
def test_which_gpu_of_a_box_and_which_port_are_no_setting(name: str) -> None:
    """The launcher itself puts runs side by side on GPU 0 and GPU 1."""
    assert settings(env={name: "0"}, port=8000) == settings(env={name: "1"}, port=8001, host="0.0.0.0")


def test_another_variable_is_a_setting() -> None:
    assert settings(env={"VLLM_USE_X": "1"})["env.VLLM_USE_X"] == "1" and settings() == {}


def test_every_key_of_a_speculative_configuration_counts() -> None:
    def drafting(most: int) -> dict[str, Any]:
        spec = Speculation(method="ngram", num_tokens=4, options={"prompt_lookup_max": most})
        return settings(speculative=spec)

    assert drafting(2) != drafting(4)
    assert drafting(4)["speculative.options.prompt_lookup_max"] == 4


def test_what_the_log_says_is_in_effect_and_what_it_leaves_out_is_as_asked() -> None:
    rows = (told("max_model_len", 8192), told("kv_cache_dtype", None), told("port", 1), told("kv_cache_tokens", 5))
    found = settings(*rows, told("attention_backend", "FA3"), max_model_len=4096, kv_cache_dtype="fp8")
    assert found == {"max_model_len": 8192, "kv_cache_dtype": "fp8", "attention_backend": "FA3"}


def test_flags_and_volumes_are_settings_but_for_caches() -> None:
    found = settings(unknown_flags=["--x", "--y 2"], volumes=["/a:/a", "/root/.cache/hf:/hf", "/tmp/z:/z"])
    assert found == {"--x": "set", "--y": "2", "volumes": "/a:/a"}


def test_a_command_without_its_address() -> None:
    argv = ["serve", "m", "--port", "8000", "--host=::", "--name", "n", "--x-port=3", "--max-len", "5", "--port"]
    assert command_of(argv) == ("serve", "m", "--max-len", "5")


def test_whether_a_server_drafts() -> None:
    log = told("speculative.method", "mtp")
    assert speculates(launched(speculative=Speculation(num_tokens=4)), ()) is True
    assert speculates(launched(argv=()), (log,)) is True, "an attached server whose log says so"
    assert speculates(launched(), ()) is False
    assert speculates(launched(argv=()), (told("speculative.method", None),)) is None
    assert speculates(launched(engine="other"), ()) is None


def test_the_version_by_log_configuration_and_package() -> None:
    packaged = launched({"package": "vllm 0.33.0"})
    assert engine_version(packaged) == "0.33.0" and engine_version(launched()) is None
    assert engine_version(launched({"package": "vllm 0.33.0"}, engine_version="0.34")) == "0.34"
    logged = packaged.model_copy(update={"told": {"engine_version": "0.35"}})
    assert engine_version(logged) == "0.35", "what serves says it itself"


def test_model_files_are_known_all_or_not_at_all() -> None:
    def of(**files: Any) -> str | None:
        return model_files({"model": {"files": files}})

    known = of(a={"sha256": "x"}, b={"sha256_of_first_mib": "y"})
    assert known is not None and known == of(b={"sha256": "y"}, a={"sha256": "x"}) != of(a={"sha256": "x"})
    assert of(a={"sha256": "x"}, b={}) is None and of() is None and model_files({}) is None


def test_gpus_as_sampled_else_as_frozen() -> None:
    frozen = {"gpus": [{"name": "B"}, {"name": "A"}]}
    sampled = [Conditions("r"), Conditions("r", gpu_names=("H", "G"))]
    assert gpus_of(frozen, sampled) == ("G", "H") and gpus_of(frozen, ()) == ("A", "B")
    assert gpus_of({"gpus": []}, ()) == () and gpus_of({}, ()) is None


def test_a_server_of_which_nothing_is_told_is_an_unknown_configuration() -> None:
    bare = launched(argv=(), model=None)
    assert not served_by(bare, (), ()).is_configuration_known
    logged = served_by(bare, (told("model", "org/x"),), ())
    assert logged.is_configuration_known and logged.model == "org/x"
    assert served_by(launched(), (), ()).command == ("vllm", "serve", "org/model")
