"""What the words around a number say of it: a change, a size, one stream's speed, the arm of a list, a flag."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.captured import results_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text


def rows_of(tmp_path: Path, text: str, name: str = "a.md") -> list[tuple[str, str, float | None, str]]:
    (load,) = loads_of_text(tmp_path, name, text)
    return [(row.metric, row.statistic, row.value, row.unit) for row in results_of(load)]


def test_a_change_in_per_cent_is_no_acceptance(tmp_path: Path) -> None:
    text = "# 85% acceptance yields only ~5% e2e decode speedup\n\nAcceptance rate: 85.2%, decode 45.5 tok/s.\n"
    assert [row for row in rows_of(tmp_path, text) if row[0] == "acceptance_rate"] == [
        ("acceptance_rate", "stated", 0.852, "ratio")
    ]


def test_two_acceptances_in_whole_per_cent_stay(tmp_path: Path) -> None:
    text = (
        "Acceptance rate is 85% at k=3 and decode is 45.5 tok/s.\n\nAcceptance rate is 71% at k=6, decode 40.5 tok/s.\n"
    )
    values = [value for metric, _, value, _ in rows_of(tmp_path, text) if metric == "acceptance_rate"]
    assert values == [0.85, 0.71]


def test_a_verb_of_decoding_is_one_streams_speed(tmp_path: Path) -> None:
    text = "One of them decoded at 8.96 tok/s, at half the resident cost of a separate 1.37 GB draft model.\n"
    assert rows_of(tmp_path, text) == [("decode_tps", "stated", 8.96, "tok/s")]


def test_memory_in_use_by_a_model_is_a_result(tmp_path: Path) -> None:
    text = "It decodes at 8.96 tok/s and uses 19.5 GB model memory.\n"
    assert ("stated", "stated", 19.5, "GB") in rows_of(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        (
            "Prompt processing went from 49 to 1,096 tokens/sec.\n\nGeneration moved from 22 to 61 tokens/sec.",
            "decode_tps",
        ),
        ("Generation moved from 22 to 61 tokens/sec.", "output_tps"),
        ("Prefill is 900 tok/s.\n\nGeneration throughput is 61 tok/s.", "output_tps"),
        ("Prefill is 900 tok/s at c=8.\n\nGeneration is 61 tok/s at c=8.", "output_tps"),
    ],
)
def test_generation_in_a_text_with_a_prompts_speed(tmp_path: Path, text: str, metric: str) -> None:
    assert [row[0] for row in rows_of(tmp_path, text) if row[2] == 61.0] == [metric]


def test_an_item_named_by_a_pull_request(tmp_path: Path) -> None:
    text = "## Result\n\nMedian TTFT (ms):\n- #221: 106.42ms\n- My test: 256.72ms\n"
    assert {row[:3] for row in rows_of(tmp_path, text)} == {
        ("ttft_ms", "median", 106.42),
        ("ttft_ms", "median", 256.72),
    }


def test_a_flag_in_a_heading_is_no_statistic(tmp_path: Path) -> None:
    text = "## Recommended, --min-sanity 1.0\n\n```\np95   : 939.85 ms\ntok/s : 53.9\nVRAM  : 2361.0 MB\n```\n"
    assert [row[1] for row in rows_of(tmp_path, text)] == ["p95", "stated", "stated"]


def test_a_quoted_gpu_is_that_of_some_rows(tmp_path: Path) -> None:
    text = (
        'Rows that read "2× RTX 3090" use two cards; every other row of this RTX 3090 rig uses one.\n\n'
        "| Model | Decode tok/s |\n|---|---|\n| a-8b | 94.5 |\n"
    )
    (load,) = loads_of_text(tmp_path, "a.md", text)
    assert load.params["gpu"] == "RTX 3090"


def test_a_sentence_of_two_lines_gives_columns_their_unit(tmp_path: Path) -> None:
    text = (
        "Served decode on the 5090 (p50 tok/s; M and S are short kinds,\nP is the shared prompt):\n\n"
        "| arm | M | S | draft acceptance (M) |\n|---|---|---|---|\n| A-1 | 220.7 | 219.8 | 0.82 |\n"
    )
    assert rows_of(tmp_path, text) == [
        ("decode_tps", "median", 220.7, "tok/s"),
        ("decode_tps", "median", 219.8, "tok/s"),
        ("acceptance_rate", "stated", 0.82, "ratio"),
    ]


def test_columns_per_token_and_per_joule(tmp_path: Path) -> None:
    text = "| Engine | ms/token | tok/s | tok/J |\n|---|---|---|---|\n| a | 26 | 38.5 | 1.27 |\n"
    assert {(value, unit) for _, _, value, unit in rows_of(tmp_path, text)} == {
        (26.0, "ms"), (38.5, "tok/s"), (1.27, "tok/J"),
    }  # fmt: skip


def test_the_size_of_a_file_is_a_setting(tmp_path: Path) -> None:
    text = "model,quant,size_gib,pp512_tps,tg128_tps\na,Q4_K_M,0.49,14902.8,277.5\nb,Q8_0,17.2,1402.8,77.5\n"
    assert {row[3] for row in rows_of(tmp_path, text, "a.csv")} == {"tok/s"}


def test_every_run_of_a_list_has_the_lists_unit(tmp_path: Path) -> None:
    text = "main runs:      473.61, 473.74, 476.24 tok/s\ncandidate runs: 492.45, 488.19, 494.00 tok/s\n"
    values = [value for _, _, value, unit in rows_of(tmp_path, text) if unit == "tok/s"]
    assert values == [473.61, 473.74, 476.24, 492.45, 488.19, 494.0]


def test_time_to_answer_is_a_latency(tmp_path: Path) -> None:
    text = "The fastest model by time-to-answer (vLLM AWQ at 0.030s) has the slowest speed (66.9 tok/s).\n"
    assert ("e2e_ms", "stated", 30.0, "ms") in rows_of(tmp_path, text)


@pytest.mark.parametrize(
    "sentence",
    [
        "Otherwise the 15GB experts tried to allocate as pinned host memory and the load died.",
        "The old bracket (7.8-15.9 min) for the TTFT is far from it.",
        "The first try varied from 19-113 tok/s and was rejected as invalid.",
    ],
)
def test_what_was_not_measured_is_no_result(tmp_path: Path, sentence: str) -> None:
    assert rows_of(tmp_path, f"Decode is 14.6 tok/s. {sentence}\n") == [("decode_tps", "stated", 14.6, "tok/s")]


def test_the_best_arm_has_no_maximum(tmp_path: Path) -> None:
    text = "| Run | 10 tokens (s) | tok/s |\n|---|---|---|\n| `A=1` (best) | 23.4 | 0.43 |\n| `A=0` | 33.4 | 0.33 |\n"
    assert {row[1] for row in rows_of(tmp_path, text)} == {"stated"}


def test_the_tested_context_is_a_limit(tmp_path: Path) -> None:
    text = "| Metric | Value |\n|---|---|\n| Decode speed | 169 tok/s |\n| Max tested context | 112K tokens |\n"
    assert rows_of(tmp_path, text) == [("decode_tps", "stated", 169.0, "tok/s")]


def test_names_of_vllm_bench_serve_have_its_units(tmp_path: Path) -> None:
    head = "arm,duration,output_throughput,request_throughput,mean_ttft_ms\n"
    text = f"{head}A,142.117,461.14,0.45,45.5\nB,100,655.36,0.64,46\n"
    assert [row for row in rows_of(tmp_path, text, "a.csv") if row[0] != "ttft_ms"] == [
        ("duration_s", "stated", 142.117, "s"), ("output_tps", "stated", 461.14, "tok/s"),
        ("request_tps", "stated", 0.45, "requests/s"),
        ("duration_s", "stated", 100.0, "s"), ("output_tps", "stated", 655.36, "tok/s"),
        ("request_tps", "stated", 0.64, "requests/s"),
    ]  # fmt: skip


def test_a_latency_per_something_is_none_of_a_request(tmp_path: Path) -> None:
    text = "run,latency_per_accepted_token_ms,tok_s\nA,287.35,3.5\nB,280.35,3.6\n"
    assert "e2e_ms" not in {row[0] for row in rows_of(tmp_path, text, "a.csv")}


def test_the_latency_of_a_set_of_questions_is_its_duration(tmp_path: Path) -> None:
    text = (
        "| Quant | Accuracy | Invalid | Latency (s) | Output throughput (token/s) |\n|---|---|---|---|---|\n"
        "| MXFP8 | 0.967 | 0.000 | 16.099 | 10530.614 |\n"
    )
    assert ("duration_s", "stated", 16.099, "s") in rows_of(tmp_path, text)


def test_a_speed_on_its_own_line_is_that_of_the_label_above(tmp_path: Path) -> None:
    text = (
        "```\nDecode with a draft:\n\n-ngl 999 -ncmoe 34 --draft-max 6\n-fa on -ctk q8_0 -t 5\n~35.5 tok/s\n\n"
        "Old build:\n\n-ngl 999 -fa 1 -ctk q8_0 -ctv q8_0 -t 5\n~26.8 tok/s\n\nTarget:\n\n~80.5 tok/s\n```\n"
    )
    (load,) = loads_of_text(tmp_path, "a.md", text)
    assert [(row.point, row.metric, row.value) for row in results_of(load)] == [
        ("Decode with a draft (line 6)", "decode_tps", 35.5), ("Old build (line 11)", "stated", 26.8),
    ]  # fmt: skip


def test_the_size_of_a_model_is_not_its_name(tmp_path: Path) -> None:
    text = "Decode: 45.5 tok/s\n\nVRAM:\n  draft model:  ~268 MiB\n  KV cache: ~105 MiB\n"
    (load,) = loads_of_text(tmp_path, "a.md", text)
    assert load.model is None


def test_lengths_in_tokens_are_settings(tmp_path: Path) -> None:
    text = "- TTFT (v0.7.0): 0.39s\n- TTFT (v0.6.1): 0.13s\n- Input Prompt: 4K tokens\n- Output Tokens: 100\n"
    assert {row[0] for row in rows_of(tmp_path, text)} == {"ttft_ms"}


def test_a_predicted_speed_is_no_result(tmp_path: Path) -> None:
    text = "Decode is 69.5 tok/s. Mixtral was predicted at 23 TPS.\n"
    assert rows_of(tmp_path, text) == [("decode_tps", "stated", 69.5, "tok/s")]


def test_an_approximate_speed_of_another_name_repeats_a_cell(tmp_path: Path) -> None:
    text = (
        "| Model | Decode (tok/s) |\n|---|---|\n| a-8b | 31.2 |\n| b-8b | 30.6 |\n\n"
        "- All of the Q4_K_M models decode at ~31.2 tok/s.\n"
    )
    assert [row[2] for row in rows_of(tmp_path, text)] == [31.2, 30.6]


def test_first_token_time_and_a_row_called_generation(tmp_path: Path) -> None:
    first = "| Try | FTT (s) |\n|---|---|\n| 1 | 0.18 |\n\n"
    text = f"{first}| | measured |\n|---|---|\n| generation | 20.3 t/s |\n| prefill | 167 t/s |\n"
    assert {row[:3:2] for row in rows_of(tmp_path, text)} == {
        ("ttft_ms", 180.0), ("decode_tps", 20.3), ("prompt_tps", 167.0),
    }  # fmt: skip


def test_the_memory_of_the_machine_is_a_setting(tmp_path: Path) -> None:
    text = "run,output_tps,prompt_tps,chip,memory_gb\n1,119.4,158.6,M5 Pro,64.0\n2,121.3,107.1,M5 Pro,64.0\n"
    (load,) = loads_of_text(tmp_path, "a.csv", text)
    assert {row.unit for row in results_of(load)} == {"tok/s"} and load.params["memory_gb"] == 64
    text = "run,output_tps,prompt_tps,chip,memory_gb\n1,119.4,158.6,M5 Pro,5.5\n2,121.3,107.1,M5 Pro,5.5\n"
    assert ("stated", "stated", 5.5, "GB") in rows_of(tmp_path, text, "b.csv"), "in use by the model"


def test_the_size_of_weights_is_a_setting(tmp_path: Path) -> None:
    text = "run,tok_s,fp32_size_mb,weights_only_memory_gb\n1,119.4,1920.5,5.5\n2,121.3,1921.5,5.6\n"
    assert {row[3] for row in rows_of(tmp_path, text, "a.csv")} == {"tok/s"}


def test_a_record_of_one_stream_has_its_speed_of_decoding(tmp_path: Path) -> None:
    text = '{"config": {"batch": 1}, "measurements": {"decode_tokens_per_s_median": 12.48, "ttft_s_median": 0.673}}'
    assert ("decode_tps", "median", 12.48, "tok/s") in rows_of(tmp_path, text, "a.json")
    batch = text.replace('"batch": 1', '"batch_size": 8')
    assert ("output_tps", "median", 12.48, "tok/s") in rows_of(tmp_path, batch, "b.json")


def test_an_acceptance_of_another_arm_is_no_rounding(tmp_path: Path) -> None:
    text = "EAGLE: acceptance rate 85%, decode 50.5 tok/s.\n\nn-gram: acceptance rate 85.2%, decode 44.5 tok/s.\n"
    values = [value for metric, _, value, _ in rows_of(tmp_path, text) if metric == "acceptance_rate"]
    assert sorted(value or 0.0 for value in values) == [0.85, 0.852]


def test_memory_in_a_list_is_read_past(tmp_path: Path) -> None:
    record = '{"hostname": "x", "memory": [1, 2], "tok_s": 45.5, "ttft_ms": 80}'
    assert [row[2] for row in rows_of(tmp_path, f"[{record}, {record}]", "a.json")] == [45.5, 80.0, 45.5, 80.0]
