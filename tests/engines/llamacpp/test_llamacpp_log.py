"""llama.cpp's grammar: every form of a request's timing, and captures of real servers of two eras."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from engines import ENGINES
from engines.base import ParsedSample, first_match
from engines.forced_acceptance import forced_sentence
from engines.line_filter import LineFilter
from engines.llamacpp.log import LlamacppReader, log_parser, log_sample
from samples import LogSample
from tests.engines.llamacpp.test_llamacpp_failures import ALLOCATION

FIXTURES = Path(__file__).parents[2] / "fixtures" / "llamacpp"
NOW = datetime(2026, 11, 20, tzinfo=UTC)
RATES = {"prompt_tokens": 96, "prompt_tps": 23.62, "generated_tokens": 221, "generation_tps": 6.93}
WHOSE = {"slot": 0, "task": 854}

BLOCK = """\
{head}slot print_timing: id  0 | task 854 |{space}
{pid}prompt eval time =    4063.52 ms /    96 tokens (   42.33 ms per token,    23.62 tokens per second)
{pid}       eval time =   31868.65 ms /   221 tokens (  144.20 ms per token,     6.93 tokens per second)
{pid}      total time =   35932.18 ms /   317 tokens
{pid}draft acceptance rate = 0.69953 (  149 accepted /   213 generated)
{pid}{clock}statistics draft-mtp: #calls(b,g,a) = 8 877 877, #gen drafts = 877, #acc drafts = 632
{head}slot      release: id  0 | task 854 | stop processing: n_tokens = 316, truncated = 0
"""
FIELDS = """\
{head}slot print_timing: id  0 | task 854 | prompt eval time =  4063.52 ms /    96 tokens (  42.33 ms per token,  23.62 tokens per second)
{head}slot print_timing: id  0 | task 854 |        eval time = 31868.65 ms /   221 tokens ( 144.20 ms per token,   6.93 tokens per second)
{head}slot print_timing: id  0 | task 854 |       total time = 35932.18 ms /   317 tokens
{head}slot print_timing: id  0 | task 854 |    graphs reused =         85
{head}slot print_timing: id  0 | task 854 | draft acceptance = 0.69953 (  149 accepted /   213 generated), {tail}
"""  # noqa: E501
DRAFT = {"draft_accept_rate": 0.69953, "accepted_tokens": 149, "drafted_tokens": 213}
OLDEST = (
    "INFO [           print_timings] prompt eval time     =    4063.52 ms /    96 tokens (   42.33 ms per token,    "
    '23.62 tokens per second) | tid="1" timestamp=1723569622 id_slot=0 id_task=854 n_prompt_tokens_processed=96\n'
    "INFO [           print_timings] generation eval time =   31868.65 ms /   221 runs   (  144.20 ms per token,     "
    '6.93 tokens per second) | tid="1" timestamp=1723569622 id_slot=0 id_task=854 n_decoded=221\n'
)
OLDEST_RATES = (
    "prompt eval time     =    4063.52 ms /    96 tokens (   42.33 ms per token,    23.62 tokens per second)",
    "generation eval time =   31868.65 ms /   221 runs   (  144.20 ms per token,     6.93 tokens per second)",
)
JSON_OF_2024 = "".join(
    f'{{"function":"print_timings","level":"INFO","line":269,"msg":"{rates}","slot_id":0,"t_token":42.3,"task_id":854}}\n'
    for rates in OLDEST_RATES
)
JSON_OF_IK = "".join(
    f'{{"tid":"1","timestamp":1756831192,"level":"INFO","function":"print_timings","line":819,"msg":"{rates}",'
    '"id_slot":0,"id_task":854,"t_token":3.3}\n'
    for rates in OLDEST_RATES
)
CLOCK = "57.42.052.753 I "
FORMS = {
    "block": (BLOCK.format(head=CLOCK, pid="", clock=CLOCK, space=" " * 60), 3, DRAFT),
    "block without a clock": (BLOCK.format(head="", pid="", clock="", space=""), 3, DRAFT),
    "block behind a router": (BLOCK.format(head="[53409] " + CLOCK, pid="[53409] ", clock=CLOCK, space=" "), 3, DRAFT),
    "field by field, June 2026": (
        FIELDS.format(
            head=CLOCK, tail="mean acceptance length =  2.92, acceptance rate per position = (0.805, 0.632, 0.483)"
        ),
        2,
        DRAFT | {"accept_length": 2.92, "per_position": [0.805, 0.632, 0.483]},
    ),
    "field by field, now": (FIELDS.format(head=CLOCK, tail="mean len =  2.92"), 2, DRAFT | {"accept_length": 2.92}),
    "2024": (OLDEST, 2, {}),
    "JSON of 2024": (JSON_OF_2024, 2, {}),
    "JSON of ik_llama.cpp": (JSON_OF_IK, 2, {}),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_timing_form_is_one_sample(name: str, read_log) -> None:
    text, line, draft = FORMS[name]
    (sample,) = read_log("llamacpp", text).samples
    assert sample.line == line
    assert dict(sample.fields) == WHOSE | RATES | draft
    assert read_log("llamacpp", text, chunk=11).samples == [sample]


def test_draft_line_may_have_its_own_head(read_log) -> None:
    head, draft = (
        "slot print_timing: id  0 | task 854 |\n",
        "draft acceptance rate = 0.69953 (  149 accepted /   213 generated)\n",
    )
    block = BLOCK.format(head="", pid="", clock="", space="").partition("draft acceptance")[0]
    (sample,) = read_log("llamacpp", block + head + draft).samples
    assert dict(sample.fields) == WHOSE | RATES | DRAFT


def test_timings_of_two_slots_are_not_mixed(read_log) -> None:
    def timing(slot: int, text: str, tokens: int) -> str:
        rate = f"{text} time = 100.00 ms / {tokens} tokens ( 1.00 ms per token, {tokens * 10}.00 tokens per second)"
        return f"0.01.000.000 I slot print_timing: id  {slot} | task {slot} | {rate}\n"

    text = timing(1, "prompt eval", 5) + timing(1, "eval", 7) + timing(2, "prompt eval", 9) + timing(2, "eval", 8)
    release = "0.01.000.000 I slot      release: id  1 | task 1 | stop processing: n_tokens = 2, truncated = 0\n"
    samples = read_log("llamacpp", text + release).samples
    assert [(s.fields["slot"], s.fields["prompt_tokens"], s.fields["generated_tokens"]) for s in samples] == [
        (1, 5, 7),
        (2, 9, 8),
    ]


def test_generation_without_prompt_line_is_alone(read_log) -> None:
    rate = "time = 9.00 ms / 7 tokens ( 1.00 ms per token, 9.00 tokens per second)\n"
    text = f"slot print_timing: id  1 | task 1 | prompt eval {rate}slot print_timing: id  2 | task 2 | eval {rate}"
    (sample,) = read_log("llamacpp", text).samples
    assert dict(sample.fields) == {"slot": 2, "task": 2, "generated_tokens": 7, "generation_tps": 9.0}


def test_sample_held_until_complete_and_sent_once() -> None:
    head, _, rest = BLOCK.format(head="", pid="", clock="", space="").partition("\n")
    rates, _, draft = rest.partition("draft acceptance")
    parser = log_parser()
    assert parser.feed(f"{head}\n".encode()) == [] and parser.settled_offset() == 0
    assert not [e for e in parser.feed(rates.encode()) if isinstance(e, ParsedSample)]
    assert parser.settled_offset() == BLOCK.format(head="", pid="", clock="", space="").index("       eval time")
    assert [e for e in parser.feed(f"draft acceptance{draft}".encode()) if isinstance(e, ParsedSample)]
    parser.feed((head + "\n" + rates).encode())
    assert [e for e in parser.feed(b"slot      release: id  0 | task 854 | stop\n") if isinstance(e, ParsedSample)]


def test_draft_head_of_its_own_closes_the_sample() -> None:
    parser = log_parser()
    block = BLOCK.format(head="", pid="", clock="", space="").partition("draft acceptance")[0]
    text = block + "slot print_timing: id  0 | task 854 |\ndraft acceptance rate = 0.5 (  1 accepted /   2 generated)\n"
    parser.feed(text.encode())
    assert parser.settled_offset() == len(text)


@pytest.mark.parametrize(
    ("rate", "generated"),
    [
        ("0.00 ms /     1 tokens (    0.00 ms per token, 1000000.00 tokens per second)", 1),
        ("0.00 ms /     0 tokens (    -nan ms per token,      nan tokens per second)", 0),
        ("0.00 ms /     9 tokens (    0.00 ms per token,      inf tokens per second)", 9),
    ],
)
def test_a_rate_over_one_token_or_none_is_invalid(rate: str, generated: int, read_log) -> None:
    (sample,) = read_log("llamacpp", f"slot print_timing: id  1 | task 330 |        eval time =   {rate}\n").samples
    assert sample.fields["invalid"] is True
    assert sample.fields["generated_tokens"] == generated
    assert log_sample("run", sample, NOW, "read").generation_tps is None


def test_running_progress_is_shown_without_sample(read_log) -> None:
    log = read_log(
        "llamacpp",
        "1.34.507.301 I slot print_timing: id  0 | task 0 | n_gen =   3591, tg =  47.42 t/s, tg_3s =  61.32 t/s\n"
        "1.34.507.301 I slot print_timing: id  0 | task 0 | n_decoded =    100, tg =  76.30 t/s\n"
        "68.12.346.139 I slot print_timing: id  0 | task 312 | prompt processing, n_tokens =  10082, progress = 1.00\n",
    )
    assert log.samples == []
    assert log.marks("throughput") == [
        "3591 tokens so far, 47.42 tok/s, 61.32 tok/s in the last 3 s",
        "100 tokens so far, 76.30 tok/s",
    ]


def test_listening_is_not_ready_before_model_load(read_log) -> None:
    listening = "0.00.100.000 I srv          init: server is listening on http://127.0.0.1:8080\n"
    loading = "0.00.010.000 I srv    load_model: loading model 'a.gguf'\n"
    loaded = "0.02.000.000 I srv  llama_server: model loaded\n"
    assert "ready" not in read_log("llamacpp", loading + listening).reading.startup
    assert read_log("llamacpp", loading + listening + loaded).reading.startup == {"ready": True, "time_to_ready_s": 2.0}
    assert read_log("llamacpp", listening).reading.startup["ready"] is True  # a router loads its models later


def test_a_window_cache_is_told_from_the_full_one(read_log) -> None:
    log = read_log(
        "llamacpp",
        "build: 9837 (b3fed31b9) with cc\n"
        "load_tensors:        CUDA0 model buffer size =  2048.00 MiB\n"
        "load_tensors:   CPU_Mapped model buffer size =  1024.00 MiB\n"
        "llama_kv_cache_iswa: creating non-SWA KV cache, size = 8192 cells\n"
        "llama_kv_cache: size =   16.00 MiB (  8192 cells,   4 layers,  4/1 seqs), K (f16): 8 MiB, V (f16): 8 MiB\n"
        "llama_kv_cache_iswa: creating     SWA KV cache, size = 1536 cells\n"
        "llama_kv_cache: size =    8.00 MiB (  1536 cells,   4 layers,  4/1 seqs), K (f16): 4 MiB, V (f16): 4 MiB\n",
    )
    assert log.reading.version == "b9837"
    assert log.reading.startup == {
        "model_load_gib": 3.0,
        "kv_cache_bytes": 24 << 20,
        "kv_cache_dtype": "f16",
        "kv_cache_tokens": 8192,
        "swa_tokens": 1536,
    }


def test_a_sample_in_the_stores_terms() -> None:
    fields = WHOSE | RATES | DRAFT | {"accept_length": 2.92, "per_position": [0.8, 0.6]}
    sample: LogSample = log_sample("run", ParsedSample(3, 120, fields), NOW, "read")
    assert (sample.definition, sample.generation_tps, sample.prompt_tps) == ("llamacpp.log", 6.93, 23.62)
    assert (sample.acceptance_rate, sample.acceptance_length, sample.per_position) == (0.69953, 2.92, [0.8, 0.6])
    assert (sample.accepted_tokens, sample.drafted_tokens, sample.generated_tokens) == (149, 213, 221)
    assert sample.window_s == pytest.approx(31.87, abs=0.05)
    assert sample.extra == {"slot": 0, "task": 854, "prompt_tokens": 96}


CAPTURES = {
    "plain.log": (3, {"max_running_requests": 4, "context_len": 2048, "kv_cache_tokens": 8192}),
    "draft.log": (3, {"max_running_requests": 2, "context_len": 4096, "kv_cache_tokens": 8192}),
    "synthetic-draft.jsonl": (3, {"max_running_requests": 2, "context_len": 4096, "kv_cache_tokens": 8192}),
    "b8672-draft.log": (1, {"max_running_requests": 2, "context_len": 4096, "kv_cache_bytes": 16 << 20}),
}


@pytest.mark.parametrize("name", CAPTURES)
def test_real_servers(name: str, read_log) -> None:
    data = (FIXTURES / name).read_bytes()
    count, startup = CAPTURES[name]
    log = read_log("llamacpp", data)
    assert len(log.samples) == count
    assert (startup | {"ready": True}).items() <= log.reading.startup.items()
    assert log.reading.errors == []
    assert read_log("llamacpp", data, chunk=13).events == log.events
    engine = first_match(ENGINES, data.decode())
    assert engine is not None and engine.name == "llamacpp"


def test_the_jsonl_records_carry_the_clock(read_log) -> None:
    log = read_log("llamacpp", (FIXTURES / "synthetic-draft.jsonl").read_bytes())
    assert log.samples[0].elapsed_s == pytest.approx(5.719038)
    assert log.reading.startup["time_to_ready_s"] == pytest.approx(2.180237)
    assert log.marks("warning") == [forced_sentence("synthetic speculative acceptance")]


@pytest.mark.parametrize(
    "excerpt",
    [
        "prompt eval time =    4063.52 ms /    96 tokens (   42.33 ms per token,    23.62 tokens per second)\n",
        "       eval time =   31868.65 ms /   221 tokens (  144.20 ms per token,     6.93 tokens per second)\n",
        "llama_model_loader: - kv   0: general.architecture str = gemma4\n",
        "load_tensors: offloaded 61/61 layers to GPU\n",
        "print_info: n_ctx_train = 262144\n",
        "slot 0 is processing [task id: 812]\n",
        "update_slots : failed to find free space in the KV cache, retrying with smaller n_batch = 256\n",
        "draft acceptance rate = 0.69953 (  149 accepted /   213 generated)\n",
        ALLOCATION,
    ],
)
def test_excerpt_without_banner_is_recognised(excerpt: str) -> None:
    match = first_match(ENGINES, excerpt)
    assert match and match.name == "llamacpp"


def wrap(text: str, columns: int) -> str:
    """The text as a terminal of this width shows it."""
    lines = (line[start : start + columns] for line in text.splitlines() for start in range(0, len(line), columns))
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("columns", [*range(70, 240)])
def test_a_record_that_a_terminal_wrapped_is_whole(columns: int, read_log) -> None:
    (sample,) = read_log("llamacpp", wrap(OLDEST, columns)).samples
    assert dict(sample.fields) == RATES | WHOSE


@pytest.mark.parametrize("columns", [80, 100, 119, 120, 132])
def test_a_field_that_a_terminal_wrapped_is_whole(columns: int, read_log) -> None:
    text = FIELDS.format(head=CLOCK, tail="mean len =  2.92")
    (sample,) = read_log("llamacpp", wrap(text, columns)).samples
    assert RATES.items() <= dict(sample.fields).items()


def test_a_terminal_that_loses_the_blank_at_its_edge(read_log) -> None:
    text = OLDEST.replace(" id_slot=0", "\nid_slot=0").replace("id_task=854 ", "id_task=854\n")
    (sample,) = read_log("llamacpp", text).samples
    assert dict(sample.fields) == RATES | WHOSE


def test_a_wrapped_task_number_is_whole(read_log) -> None:
    (sample,) = read_log("llamacpp", OLDEST.replace("id_task=854 ", "id_task=85\n4 ")).samples
    assert sample.fields["task"] == 854


def test_half_a_record_is_not_settled() -> None:
    parser = log_parser()
    head = OLDEST.partition(" id_slot")[0] + "\n"
    assert parser.feed(head.encode()) == []
    assert parser.settled_offset() == 0


STAMPED = """\
2026-07-19 13:09:27 [DEBUG]
 0.40.347.173 I slot print_timing: id  0 | task 854 | prompt eval time =  4063.52 ms /    96 tokens (   42.33 ms per token,    23.62 tokens per second)
0.40.347.174{cut}I slot print_timing: id  0 | task 854 |        eval time = 31868.65 ms /   221 tokens ( 144.20 ms per token,   6.93 tokens per second)
0.40.347.235{cut}I slot print_timing: id  0 | task 854 | draft acceptance = 0.69953 (  149 accepted /   213 generated)
"""  # noqa: E501


@pytest.mark.parametrize("cut", [" ", "   ", "\n2026-07-19 13:09:27 [DEBUG]\n ", " I\n2026-07-19 13:09:27  [DEBUG]\n "])
@pytest.mark.parametrize("line_filter", [LlamacppReader.LINE_FILTER, LineFilter()])
def test_a_record_may_begin_at_its_level(cut: str, line_filter: LineFilter, monkeypatch, read_log) -> None:
    """A logger that stamps every write of the server parts the clock, the level and the message."""
    monkeypatch.setattr(LlamacppReader, "LINE_FILTER", line_filter)
    (sample,) = read_log("llamacpp", STAMPED.format(cut=cut)).samples
    assert dict(sample.fields) == RATES | WHOSE | DRAFT


def test_the_context_of_a_slot_is_read_from_a_request_too(read_log) -> None:
    log = read_log("llamacpp", "slot update_slots: id  1 | task 9 | new prompt, n_ctx_slot = 4096, n_keep = 0\n")
    assert log.reading.startup == {"context_len": 4096}


def test_an_old_build_names_the_buffers_of_its_weights_otherwise(read_log) -> None:
    log = read_log(
        "llamacpp",
        "llama-cpp    | ggml_cuda_init: failed to initialize CUDA: unknown error\n"
        "llama-cpp    | llm_load_tensors:        CPU buffer size =  1024.00 MiB\n"
        "llama-cpp    | llm_load_tensors:      CUDA0 buffer size =  2048.00 MiB\n"
        "llama-cpp    | llama_kv_cache_init:      CUDA0 KV buffer size =  1472.00 MiB\n",
    )
    assert (log.reading.startup, log.reading.errors) == ({"model_load_gib": 3.0}, [])
    assert log.marks("warning") == ["No GPU is used: its driver could not be initialized."]


RECORD = "slot print_timing: id  1 | task 7 |        eval time =    2296.72 ms /   256 tokens (    8.97 ms per token,   111.46 tokens per second)"  # noqa: E501
WRAPPERS = [
    "0|llama  | ",
    "0|llama  | 2026-11-28T12:00:00: ",
    "123:",
    "server.log:123:",
    "3: ",
    "node01: ",
    "llama-0 main ",
    "[  123.456789] ",
    "12:00:00 ",
    "2026-11-28T12:00:00.000Z\t",
    "2026-04-19 12:02:00.481 | ",
]


@pytest.mark.parametrize("before", WRAPPERS)
def test_a_record_behind_any_wrapper(before: str, read_log) -> None:
    (sample,) = read_log("llamacpp", f"{before}{RECORD}\n").samples
    assert dict(sample.fields) == {"slot": 1, "task": 7, "generated_tokens": 256, "generation_tps": 111.46}
    context = read_log("llamacpp", f"{before}llama_context: n_ctx         = 131072\n").reading.startup
    assert context == {"n_ctx": 131072}


def test_an_indented_record_of_2024_keeps_its_slot(read_log) -> None:
    text = (
        "      INFO [           print_timings] generation eval time =     828.09 ms /    23 runs   (   36.00 ms per "
        'token,    27.77 tokens per second) | tid="0x1" timestamp=1720645909 id_slot=2 id_task=1\n'
    )
    (sample,) = read_log("llamacpp", text).samples
    assert (sample.fields["slot"], sample.fields["task"], sample.fields["generation_tps"]) == (2, 1, 27.77)


def test_a_record_that_a_request_quotes_is_none(read_log) -> None:
    log = read_log("llamacpp", 'srv  log_server_r: request: {"content":"see ' + RECORD + '"}\n')
    assert log.samples == []


@pytest.mark.parametrize("name", ["llama_print_timings", "llama_perf_context_print", "print_timings"])
def test_timings_behind_the_name_of_their_function(name: str, read_log) -> None:
    text = (
        f"{name}:        load time =     523.26 ms\n"
        f"{name}: prompt eval time =     232.47 ms /   492 tokens (    0.47 ms per token,  2116.38 tokens per second)\n"
        f"{name}:        eval time =    4057.40 ms /   327 runs   (   12.41 ms per token,    80.59 tokens per second)\n"
        f"{name}:       total time =    4289.87 ms /   819 tokens\n"
    )
    (sample,) = read_log("llamacpp", text).samples
    fields = {"prompt_tokens": 492, "prompt_tps": 2116.38, "generated_tokens": 327, "generation_tps": 80.59}
    assert dict(sample.fields) == fields


LIBRARY_TIMINGS = """\
llama_print_timings: prompt eval time =     444.18 ms /   800 tokens (    0.56 ms per token,  1801.06 tokens per second)
llama_print_timings:        eval time =    8832.02 ms /   143 runs   (   61.76 ms per token,    16.19 tokens per second)
"""


def test_sums_that_the_library_prints_at_the_end_are_no_request(read_log) -> None:
    assert [s.fields["prompt_tokens"] for s in read_log("llamacpp", LIBRARY_TIMINGS).samples] == [800]
    log = read_log("llamacpp", JSON_OF_2024 + LIBRARY_TIMINGS)
    assert [s.fields["prompt_tokens"] for s in log.samples] == [96]


@pytest.mark.parametrize("blanks", [" ", " " * 40])
def test_the_type_of_the_weights_ends_before_the_next_record(blanks: str, read_log) -> None:
    log = read_log("llamacpp", f"llm_load_print_meta: model ftype      = Q4_K - Medium{' ' * 40}\n")
    assert log.reading.startup == {"quantization": "Q4_K - Medium"}
    glued = f"llm_load_print_meta: model ftype      = Q4_0 {blanks}llm_load_print_meta: model params = 6.74 B\n"
    assert read_log("llamacpp", glued).reading.startup == {"quantization": "Q4_0"}


def test_facts_of_2023_and_slots_without_a_word_on_auto(read_log) -> None:
    log = read_log(
        "llamacpp",
        "llm_load_tensors: mem required  = 2048.00 MB\nllm_load_tensors: VRAM used: 0.00 MB\n"
        "llama_new_context_with_model: kv self size  =  400.00 MB\n"
        "main: setting n_parallel = 4 and kv_unified = true\n",
    )
    facts = {"model_load_gib": 2.0, "kv_cache_bytes": 400 << 20, "max_running_requests": 4, "kv_unified": True}
    assert log.reading.startup == facts
    assert read_log("llamacpp", "llm_load_tensors: VRAM used: 0.00 MB\n").reading.startup == {}


def test_facts_of_early_2024(read_log) -> None:
    log = read_log(
        "llamacpp",
        '{"build":2755,"commit":"5f0ad6d4","function":"main","level":"INFO","line":2859,"msg":"build info"}\n'
        "llm_load_tensors: system memory used  =   70.00 MiB\n"
        "llm_load_tensors: VRAM used           = 4026.00 MiB\n"
        "Available slots:\n -> Slot 0 - max context: 2048\n -> Slot 1 - max context: 2048\n",
    )
    assert log.reading.version == "b2755"
    assert log.reading.startup == {"model_load_gib": 4.0, "max_running_requests": 2, "context_len": 2048}
