"""The arguments of a server, read from its log's own lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import Config
from engines import BY_NAME, ENGINES
from engines.base import Engine
from engines.line_filter import LineFilter
from engines.lines import LineSplitter

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


def config_of_log(engine: str, log: bytes) -> Config:
    """The config that a log's argument lines say."""
    known = BY_NAME[engine]
    assert known.arguments and known.commands
    splitter = LineSplitter(LineFilter(known.arguments.NEEDLES))
    words = known.arguments.read_arguments([line.text for line in [*splitter.feed(log), *splitter.close()]])
    return Config(engine=engine, **known.commands.read_command(words, {}).fields)


def test_vllm_says_what_is_no_default() -> None:
    config = config_of_log("vllm", (FIXTURES / "vllm/0.32-ngram.log").read_bytes())
    assert (config.model, config.port, config.max_model_len) == ("/srv/lab/model", 18202, 2048)
    assert config.speculative and (config.speculative.method, config.speculative.num_tokens) == ("ngram", 4)
    assert config.dtype is None, "a default that the line leaves out is not known"


@pytest.mark.parametrize(("printed", "number"), [(b"1", None), (b"2", 2)])
def test_vllm_data_parallel_engine_states_itself(printed: bytes, number: int | None) -> None:
    line = b"INFO 01-01 21:15:20 [core.py:93] Initializing a V1 LLM engine (v0.14.0) with config: model='m', "
    assert (
        config_of_log("vllm", line + b"data_parallel_size=" + printed + b", dtype=torch.bfloat16, \n").data_parallel
        == number
    )


def test_vllm_before_0_9_prints_them_all() -> None:
    line = (
        b"INFO 02-11 10:00:00 api.py:840] args: Namespace(subparser='serve', model_tag='m', host=None, port=8000,"
        b" uvicorn_log_level='info', api_key='sk-hidden', model='org/m', max_model_len=4096, tensor_parallel_size=2,"
        b" enforce_eager=False, quantization=None, num_speculative_tokens=5, speculative_model='[ngram]',"
        b" dispatch_function=<function serve at 0x7f>)\n"
    )
    config = config_of_log("vllm", line)
    assert (config.model, config.tensor_parallel, config.max_model_len) == ("org/m", 2, 4096)
    assert (config.enforce_eager, config.quantization, config.host) == (False, None, None)
    assert config.speculative and config.speculative.model == "[ngram]" and config.speculative.num_tokens == 5


def test_vllm_in_ray_serve_prints_its_engine_arguments() -> None:
    line = (
        b"INFO 2024-11-18 01:46:34,210 V a.py:47 - Starting: AsyncEngineArgs(model='org/m', max_num_seqs=256, seed=0\n"
    )
    config = config_of_log("vllm", line)
    assert (config.model, config.max_num_seqs) == ("org/m", 256)


def test_llamacpp_of_2023_states_its_model() -> None:
    assert (
        config_of_log("llamacpp", b"api-1  | llama.cpp: loading model from /models/a b.bin\n").model
        == "/models/a b.bin"
    )


def test_vllm_states_its_model_by_position_if_the_log_cuts_its_name() -> None:
    line = b"INFO 03-09 12:40:52 api_server.py:841] args: Namespace(model_tag='/m/org', port=40938, model='/m/o"
    assert config_of_log("vllm", line).model == "/m/org"


def test_a_value_that_the_log_cuts_is_not_known(read_log) -> None:
    line = b"INFO 01-01 21:15:20 [core.py:93] Initializing a V1 LLM engine (v0.8.0) with config: model='org/m', "
    assert config_of_log("vllm", line + b"dtype=torch.floa\n").dtype is None
    assert read_log("vllm", line + b"max_seq_len=4096, dtype=torch.floa\n").reading.startup == {"max_model_len": 4096}
    assert (
        config_of_log("sglang", b"server_args=ServerArgs(model_path='org/m', dtype='auto', tp_size=1").tensor_parallel
        is None
    )


def test_a_name_without_quotes_keeps_its_slash() -> None:
    line = b"INFO 01-01 21:15:20 [core.py:93] Initializing a V1 LLM engine (v0.8.0) with config: model='org/m', "
    assert config_of_log("vllm", line + b"served_model_name=org/m-1, seed=0\n").served_model_name == "org/m-1"


def test_engine_line_used_without_kept_arguments() -> None:
    log = (FIXTURES / "vllm/0.32-ngram.log").read_bytes().replace(b"non-default args", b"lost")
    config = config_of_log("vllm", log)
    assert (config.model, config.max_model_len, config.dtype) == ("/srv/lab/model", 2048, "bfloat16")
    assert config.speculative and (config.speculative.method, config.speculative.num_tokens) == ("ngram", 4)


@pytest.mark.parametrize(
    "line",
    [
        b"[2026-11-20 19:09:17] server_args=ServerArgs(model_path='org/m', dtype='auto', quantization=None, tp_size=2,"
        b" served_model_name='m', disable_cuda_graph=False, speculative_algorithm='EAGLE', api_key=None)\n",
        b"[2026-11-20 19:09:17] server_args={'model_path': 'org/m', 'dtype': 'auto', 'quantization': None,"
        b" 'tp_size': 2, 'served_model_name': 'm', 'disable_cuda_graph': False, 'speculative_algorithm': 'EAGLE'}\n",
    ],
)
def test_sglang_prints_arguments_as_class_or_dict(line: bytes) -> None:
    config = config_of_log("sglang", line)
    assert (config.model, config.tensor_parallel, config.quantization) == ("org/m", 2, None)
    assert config.enforce_eager is None
    assert config.speculative and config.speculative.method == "EAGLE"


@pytest.mark.parametrize(("name", "value"), [("chunked_prefill_enabled", False), ("enable_chunked_prefill", True)])
def test_vllm_engine_line_states_caching_and_chunks(name: str, value: bool) -> None:
    line = (
        f"INFO 01-01 21:15:20 [core.py:93] Initializing a V1 LLM engine (v0.14.0) with config: model='m', "
        f"enable_prefix_caching=True, {name}={value}, use_async_output_proc=True\n"
    )
    config = config_of_log("vllm", line.encode())
    assert (config.prefix_caching, config.chunked_prefill) == (True, value)


@pytest.mark.parametrize(
    "line",
    [
        "[09/11/2026-08:00:02] [TRT-LLM] [I] LLM Args: model='org/m' tokenizer=None tensor_parallel_size=8 "
        "pipeline_parallel_size=2 max_batch_size=256 max_num_tokens=8192 max_seq_len=131072 "
        "enable_chunked_prefill=True kv_cache_config=KvCacheConfig(free_gpu_memory_fraction=0.85, dtype='fp8')\n",
        "[09/11/2026-08:00:02] [TRT-LLM] [I] LLM Args:\nmodel='org/m' tokenizer=None tensor_parallel_size=8 "
        "pipeline_parallel_size=2 max_batch_size=256 max_num_tokens=8192 max_seq_len=131072 "
        "enable_chunked_prefill=True kv_cache_config=KvCacheConfig(free_gpu_memory_fraction=0.85, dtype='fp8')\n",
        "TensorRT-LLM engine args: {'model': 'org/m', 'tensor_parallel_size': 8, 'pipeline_parallel_size': 2, "
        "'max_batch_size': 256, 'max_num_tokens': 8192, 'max_seq_len': 131072, 'enable_chunked_prefill': True, "
        "'kv_cache_config': {'free_gpu_memory_fraction': 0.85}}\n",
    ],
)
def test_trtllm_prints_arguments_as_pairs_or_dict(line: str) -> None:
    config = config_of_log("trtllm", line.encode())
    assert (config.model, config.tensor_parallel, config.pipeline_parallel) == ("org/m", 8, 2)
    assert (config.max_num_seqs, config.max_num_batched_tokens, config.max_model_len) == (256, 8192, 131072)
    assert (config.gpu_memory_fraction, config.chunked_prefill) == (0.85, True)


def test_llamacpp_shows_what_its_arguments_led_to() -> None:
    config = config_of_log("llamacpp", (FIXTURES / "llamacpp/draft.log").read_bytes())
    assert config.model == "models/tiny-f16.gguf" and config.max_num_seqs == 2
    assert config.speculative and config.speculative.model == "models/tiny-draft-f16.gguf"


def test_llamacpp_names_its_model_where_it_reads_the_file() -> None:
    log = (
        "llama_model_loader: loaded meta data with 31 key-value pairs and 707 tensors from /m/my model.gguf (version "
        "GGUF V3 (latest))\n"
        "llama_new_context_with_model: n_ctx      = 32768\n"
        "llama_new_context_with_model: KV self size  =  448.00 MiB, K (q8_0):  224.00 MiB, V (q8_0):  224.00 MiB\n"
        'INFO [                    init] initializing slots | tid="1" timestamp=1742136993 n_slots=2\n'
        "llama_model_loader: loaded meta data with 31 key-value pairs and 9 tensors from /m/draft.gguf (version 3)\n"
    )
    config = config_of_log("llamacpp", log.encode())
    assert (config.model, config.max_model_len, config.max_num_seqs) == ("/m/my model.gguf", 32768, 2)
    assert config.kv_cache_dtype == "q8_0"


@pytest.mark.parametrize(
    "line",
    [
        "llama_init_from_gpt_params: error: failed to create context with model '/m/my model.gguf'",
        "common_init_from_params: failed to load model '/m/my model.gguf'",
        "0.01.060.161 E srv    load_model: failed to load model, '/m/my model.gguf'",
        ' ERR [              load_model] unable to load model | tid="1" timestamp=1740668683 model="/m/my model.gguf"',
    ],
)
def test_llamacpp_names_the_model_that_it_could_not_load(line: str) -> None:
    assert config_of_log("llamacpp", f"{line}\n".encode()).model == "/m/my model.gguf"


def test_llamacpp_router_names_the_arguments_of_its_last_server() -> None:
    def spawned(*words: str) -> str:
        lines = ("spawning server instance with args:", *(f"  {word}" for word in words))
        return "".join(f"0.11.036.254 I srv          load: {line}\n" for line in lines)

    log = (
        spawned("/opt/llama-server", "--model", "/m/a.gguf")
        + spawned("/opt/llama-server", "--alias", "b", "--ctx-size", "65536", "--model", "/m/b.gguf", "--parallel", "2")
        + "0.24.390.510 I srv          load:  - looking for better prompt, base f_keep = -1.000, sim = 0.000\n"
        + "[41303] 0.33.668.780 I srv    load_model: initializing, n_slots = 1, n_ctx_slot = 4096\n"
    )
    config = config_of_log("llamacpp", log.encode())
    assert (config.model, config.served_model_name, config.max_model_len) == ("/m/b.gguf", "b", 65536)
    assert config.max_num_seqs == 2


def test_vllm_arguments_that_the_log_cuts() -> None:
    line = b"INFO 09-17 16:44:16 [api.py:1] non-default args: {'model': 'org/m', 'max_model_len': 4096, 'enable_chun"
    config = config_of_log("vllm", line)
    assert (config.model, config.max_model_len, config.chunked_prefill) == ("org/m", 4096, None)


@given(st.sampled_from([engine for engine in ENGINES if engine.arguments]), st.lists(st.text(max_size=200), max_size=5))
def test_no_line_is_too_strange(engine: Engine, texts: list[str]) -> None:
    assert engine.arguments and engine.commands
    starts = ["", "non-default args: {", "args: Namespace(", "server_args=", "LLM Args: ", "loading model '"]
    for start in starts:
        words = engine.arguments.read_arguments([start + text for text in texts])
        Config(engine=engine.name, **engine.commands.read_command(words, {}).fields)
