"""Counters of real servers, mapped: captures trimmed to the lines that matter, and old names by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collectors.endpoints.exposition import has_prefix, read_points
from engines import BY_NAME
from engines.base import CounterMap, Scrape
from engines.definitions import CLIENT, METRICS
from samples import CounterSample

FIXTURES = Path(__file__).parent.parent / "fixtures" / "metrics"
NOW = datetime(2026, 11, 20, tzinfo=UTC)


def counters_of(engine: str) -> CounterMap:
    counters = BY_NAME[engine].counters
    assert counters is not None
    return counters


def scrape(engine: str, body: str | bytes, slots: object = None) -> Scrape:
    data = body.encode() if isinstance(body, str) else body
    return Scrape("r", NOW, 1.0, read_points(data, counters_of(engine).METRIC_NAMES), slots)


def samples(engine: str, body: str | bytes) -> list[CounterSample]:
    return counters_of(engine).counter_samples(scrape(engine, body))


def fixture(engine: str, name: str) -> list[CounterSample]:
    return samples(engine, (FIXTURES / name).read_bytes())


def test_vllm_gives_one_sample_per_dp_rank() -> None:
    first, second = fixture("vllm", "vllm-0.32-dp2.txt")
    assert (first.engine_index, second.engine_index) == (0, 1)
    assert (first.generation_tokens_total, second.generation_tokens_total) == (5376.0, 6400.0)
    assert (first.first_tokens_total, first.inter_token_count_total) == (42.0, 5334.0)
    assert first.drafts_total is None
    assert first.accepted_per_pos_total is None


def test_vllm_tells_since_when_its_process_runs() -> None:
    body = (FIXTURES / "vllm-0.32-dp2.txt").read_text()
    assert {sample.process_start_s for sample in samples("vllm", body)} == {None}
    actual_samples = samples("vllm", body + "process_start_time_seconds 1.79520209311e+09\n")
    assert {sample.process_start_s for sample in actual_samples} == {1795202093.11}
    assert samples("vllm", "process_start_time_seconds 1.79520209311e+09\n") == [], "no counter of the engine's"


def test_vllm_prompt_tokens_are_the_computed_ones() -> None:
    first, _ = fixture("vllm", "vllm-0.32-dp2.txt")
    assert first.prompt_tokens_total == 3718.0
    assert first.prompt_tokens_cached_total == 5248.0


def test_vllm_speculation_keeps_token_identity() -> None:
    (s,) = fixture("vllm", "vllm-0.32-ngram.txt")
    assert s.definition == "vllm.counter"
    assert s.accepted_per_pos_total == [8562.0, 8391.0, 8391.0, 8220.0]
    assert s.accepted_tokens_total == sum(s.accepted_per_pos_total)
    # accepted + drafts + first tokens + undrafted steps - tokens cut at the stop = generated
    assert s.accepted_tokens_total is not None and s.drafts_total is not None and s.first_tokens_total is not None
    assert s.inter_token_count_total is not None and s.generation_tokens_total is not None
    undrafted = s.inter_token_count_total - s.drafts_total
    accepted_tokens_total = s.accepted_tokens_total + s.drafts_total + s.first_tokens_total + undrafted
    assert accepted_tokens_total == s.generation_tokens_total


@pytest.mark.parametrize(
    ("body", "definition", "kv", "inter"),
    [
        (
            'vllm:num_requests_swapped{model_name="m"} 0\nvllm:generation_tokens_total{model_name="m"} 7\n'
            'vllm:gpu_cache_usage_perc{model_name="m"} 0.5\n'
            'vllm:time_per_output_token_seconds_count{model_name="m"} 6\n',
            "vllm.v0.counter",
            0.5,
            6.0,
        ),
        (
            'vllm:generation_tokens{engine="0"} 7\nvllm:gpu_cache_usage_perc{engine="0"} 0.1\n'
            'vllm:kv_cache_usage_perc{engine="0"} 0.25\nvllm:inter_token_latency_seconds_count{engine="0"} 5\n'
            'vllm:time_per_output_token_seconds_count{engine="0"} 9\n',
            "vllm.counter",
            0.25,
            5.0,
        ),
        (
            'vllm:generation_tokens_total{model_name="m"} 7\nvllm:gpu_prefix_cache_queries_total{model_name="m"} 1\n'
            'vllm:gpu_cache_usage_perc{model_name="m"} NaN\n',
            "vllm.counter",
            None,
            None,
        ),
    ],
    ids=["V0", "both names, the newer wins", "V1 before the engine label, NaN is unknown"],
)
def test_vllm_names_of_all_ages(body: str, definition: str, kv: float | None, inter: float | None) -> None:
    (s,) = samples("vllm", body)
    assert s.definition == definition
    assert s.generation_tokens_total == 7.0
    assert (s.kv_usage_ratio, s.inter_token_count_total) == (kv, inter)


def test_sglang_live_counter_hides_zeroed_gauges() -> None:
    (s,) = fixture("sglang", "sglang-0.5.23.txt")
    assert (s.decode_tokens_total, s.prompt_tokens_total, s.prompt_tokens_cached_total) == (1031.0, 90.0, 35.0)
    assert (s.requests_running, s.requests_waiting) == (8.0, 2.0)
    assert s.kv_usage_ratio == pytest.approx(0.1197509765625)
    assert s.generation_tps_gauge == pytest.approx(345.30369488567715)
    assert (s.accept_length_gauge, s.accept_rate_gauge) == (None, None), "0 means no speculation, not zero acceptance"


def test_sglang_takes_first_worker_per_dp_rank() -> None:
    body = "".join(
        f'sglang:realtime_tokens_total{{mode="decode",dp_rank="{dp}",tp_rank="{tp}",pp_rank="0"}} {value}\n'
        f'sglang:num_running_reqs{{dp_rank="{dp}",tp_rank="{tp}",pp_rank="0"}} 1\n'
        for dp, tp, value in [(0, 0, 100), (0, 1, 100), (1, 2, 30), (1, 3, 30)]
    )
    body += 'sglang:time_to_first_token_seconds_count{model_name="m"} 5\n'
    first, second = samples("sglang", body)
    assert (first.decode_tokens_total, second.decode_tokens_total) == (100.0, 30.0)
    assert (first.requests_running, second.requests_running) == (1.0, 1.0)
    assert (first.first_tokens_total, second.first_tokens_total) == (5.0, None)


SPECULATING = (
    'sglang:num_running_reqs{tp_rank="0"} %d\nsglang:spec_accept_length{tp_rank="0"} 2.5\n'
    'sglang:spec_accept_rate{tp_rank="0"} 0.5\nsglang:gen_throughput{tp_rank="0"} 80\n'
)


def test_sglang_gauges_are_stale_when_idle() -> None:
    (busy,) = samples("sglang", SPECULATING % 1 + 'sglang:context_len{tp_rank="0"} 4096\n')
    assert (busy.accept_length_gauge, busy.accept_rate_gauge, busy.generation_tps_gauge) == (2.5, 0.5, 80.0)
    (idle,) = samples("sglang", SPECULATING % 0 + 'sglang:context_len{tp_rank="0"} 4096\n')
    assert (idle.accept_length_gauge, idle.accept_rate_gauge, idle.generation_tps_gauge) == (None, None, None)


def test_sglang_old_lenient_rate_is_not_taken() -> None:
    (old,) = samples("sglang", SPECULATING % 1)
    assert (old.accept_length_gauge, old.accept_rate_gauge) == (2.5, None)


def test_llamacpp_counters_of_both_ages() -> None:
    (new,) = fixture("llamacpp", "llamacpp-draft.txt")
    assert (new.generation_tokens_total, new.decode_seconds_total, new.decode_calls_total) == (450, 1.11748, 188)
    assert (new.drafts_total, new.accepted_tokens_total) == (184, 262)
    assert new.accepted_per_pos_total == [117, 70, 38, 22, 15]
    (old,) = fixture("llamacpp", "llamacpp-b8672.txt")
    assert (old.generation_tokens_total, old.drafts_total, old.prompt_tokens_cached_total) == (60, None, None)


def test_llamacpp_slots_show_live_idle_unknown() -> None:
    slots = json.loads((FIXTURES / "llamacpp-slots-busy.json").read_text())
    turn = replace(scrape("llamacpp", "llamacpp:n_decode_total 188\n"), slots=slots)
    rows = counters_of("llamacpp").slot_samples(turn)
    assert [(r.slot, r.task, r.is_processing, r.n_decoded, r.n_tokens) for r in rows] == [
        (0, None, False, None, None),
        (1, None, False, None, None),
        (2, 92, True, 606, 613),
        (3, 67, False, None, 46),
    ]
    assert {r.decode_calls_total for r in rows} == {188}


@pytest.mark.parametrize("slots", [None, {"error": {"code": 501}}, [1, "x", {"id": None}], "text"])
def test_llamacpp_odd_slots_are_no_samples(slots: object) -> None:
    assert counters_of("llamacpp").slot_samples(scrape("llamacpp", "", slots)) == []


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llamacpp"])
def test_nothing_exported_is_no_sample(engine: str) -> None:
    assert samples(engine, "# HELP x y\n") == []


def test_every_definition_says_every_metric_once() -> None:
    rows = [d for e in BY_NAME.values() for d in e.definitions] + list(CLIENT)
    assert len(rows) == len({(d.definition, d.metric) for d in rows})
    assert {d.metric for d in rows} == set(METRICS)
    assert all((d.formula is None) != (d.null_reason is None) for d in rows)
    ids = {d.definition for d in rows}
    assert {"vllm.counter", "vllm.v0.counter", "vllm.log", "sglang.counter", "sglang.log"} <= ids
    assert {"llamacpp.counter", "llamacpp.slots", "llamacpp.log", "trtllm.log", "client.requests"} <= ids


def test_only_wanted_lines_reach_the_parser() -> None:
    body = b'vllm:generation_tokens_total{engine="0"} 5\nvllm:other{ broken\n<html>\n'
    (point,) = read_points(body, frozenset({"vllm:generation_tokens_total"}))
    assert (point.name, dict(point.labels), point.value) == ("vllm:generation_tokens_total", {"engine": "0"}, 5.0)
    with pytest.raises(ValueError):
        read_points(b'vllm:generation_tokens_total{engine="0"} not a number\n', frozenset({point.name}))


def test_prefix_is_seen_in_samples_and_in_help() -> None:
    assert has_prefix(b"# HELP vllm:x y\n", ("vllm:",))
    assert has_prefix(b"a 1\nvllm:x 1\n", ("vllm:",))
    assert not has_prefix(b"<html>vllm: is not here</html>", ("vllm:",))
