"""The form's fields: each says the flag that the engine itself would write, and edits nothing but its own."""

from __future__ import annotations

import pytest

from commands.explain import explain
from domain import Config, Speculation
from engines import ENGINES
from web.launch.config_fields import GROUPS, ConfigField, flag_of, groups_of, label_of, value_of, with_value

ALL = [field for fields in GROUPS.values() for field in fields]


def by_path(path: str) -> ConfigField:
    return next(field for field in ALL if field.path == path)


@pytest.mark.parametrize(
    ("engine", "path", "flag"),
    [
        ("vllm", "kv_cache_dtype", "--kv-cache-dtype"),
        ("vllm", "speculative.num_tokens", "--speculative-config"),
        ("vllm", "model", "(positional)"),
        ("sglang", "max_model_len", "--context-length"),
        ("sglang", "enforce_eager", "--disable-cuda-graph"),
        ("llamacpp", "kv_cache_dtype", "--cache-type-k"),
        ("llamacpp", "tensor_parallel", None),
        ("trtllm", "max_num_seqs", "--max_batch_size"),
    ],
)
def test_a_field_names_the_flag_of_the_engine(engine: str, path: str, flag: str | None) -> None:
    assert flag_of(engine, by_path(path)) == flag


def test_form_has_every_config_field() -> None:
    words = {field.path.split(".")[0] for field in ALL}
    behind = {"engine", "engine_version", "executable", "argv", "sampling"}
    assert words == set(Config.model_fields) - behind


@pytest.mark.parametrize("engine", [engine.name for engine in ENGINES])
def test_only_what_the_command_can_say_is_offered(engine: str) -> None:
    offered = {field.path for fields in groups_of(Config(engine=engine)).values() for field in fields}
    assert "image" not in offered and "model" in offered and "env" in offered
    assert ("tensor_parallel" in offered) == (engine != "llamacpp")


def test_unknown_engine_shows_only_stated_fields() -> None:
    groups = groups_of(Config(argv=("x",)))
    assert [field.path for fields in groups.values() for field in fields] == ["launcher", "env"]


@pytest.mark.parametrize("field", ALL, ids=lambda one: one.path)
def test_a_value_set_is_the_value_read(field: ConfigField) -> None:
    values = {"integer": 3, "number": 0.5, "switch": False, "lines": "a\nb", "choice": "podman"}
    value = values.get(field.kind, "x")
    fields = {"A": "1"} if field.kind == "variables" else value
    config = with_value(Config(engine="vllm"), field, fields)
    assert value_of(config, field) == ("A=1" if field.kind == "variables" else value)


def test_an_emptied_field_is_not_stated() -> None:
    config = Config(engine="vllm", quantization="fp8", speculative=Speculation(num_tokens=3))
    config = with_value(with_value(config, by_path("quantization"), " "), by_path("speculative.num_tokens"), None)
    assert config == Config(engine="vllm")


def test_sampling_flags_have_fields_by_any_name() -> None:
    config = explain("llama-server -m m.gguf --temperature 0.7 --jinja").config
    assert config
    temperature = next(field for field in groups_of(config)["Sampling and output"] if field.path == "--temp")
    others = by_path("unknown_flags")
    assert (value_of(config, temperature), value_of(config, others)) == ("0.7", "--jinja")
    config = with_value(with_value(config, temperature, "0.2"), others, "--verbose")
    assert sorted(config.unknown_flags) == ["--temp 0.2", "--verbose"]
    assert with_value(config, temperature, "").unknown_flags == ["--verbose"]


def test_label_shows_flag_or_runtime_option() -> None:
    config = Config(engine="vllm", launcher="podman", image="i")
    assert label_of(config, by_path("port")) == "Port -p"
    assert label_of(config.model_copy(update={"launcher": "process"}), by_path("port")) == "Port --port"
