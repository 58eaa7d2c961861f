"""The causal sentence: right factors, an interval, and no ranking where there must be none."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from analysis.compare import compare
from analysis.config_diff import as_started, chips, compare_configs, differing_fields
from analysis.guard import Subject, reasons_not_ranked
from analysis.reasons import Code, Reason
from analysis.windows import Window, speed_factors, summarize
from web.compare.sentence import detail, sentence
from web.words import why_not_ranked

NAMES = {"a": "A", "b": "B"}
T0 = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def windows(steps_per_s: float, tokens_per_step: float, n: int = 20, wobble: float = 0.02) -> list[Window]:
    out = []
    for i in range(n):
        steps = 2.0 * steps_per_s * (1 + wobble * (-1) ** i)
        tokens = steps * tokens_per_step
        out.append(
            Window(2.0 * i, 2.0, 2.0, tokens, steps, tokens / 2.0, tokens_per_step, steps / 2.0, tokens_per_step,
                   "active", "vllm.counter", 1.0)
        )  # fmt: skip
    return out


def subject(run_id: str, its_windows: list[Window], start_min: float = 0.0, **changes: object) -> Subject:
    began = T0 + timedelta(minutes=start_min)
    base = Subject(run_id, run_id.upper(), "finished", "m1", began, began + timedelta(minutes=1), "demo", "abc", {},
                   "decode tokens over time", summarize(its_windows))  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]


def test_speed_is_the_product_of_its_factors() -> None:
    factors = speed_factors(windows(25.0, 4.28))
    assert factors is not None and factors.steps_per_s and factors.tokens_per_step
    assert factors.decode_tps == pytest.approx(factors.steps_per_s * factors.tokens_per_step)
    assert factors.tokens_per_step == pytest.approx(4.28)


def test_the_seed_decomposition() -> None:
    """Source 000's peaks: 115.3 over 109.8 is 1.050 = 1.101 x 0.954 with acceptance lengths 4.74 and 4.97."""
    a, b = windows(109.8 / 4.97, 4.97, wobble=0.0), windows(115.3 / 4.74, 4.74, wobble=0.0)
    verdict = compare(subject("a", a), a, subject("b", b, 5), b)
    assert verdict.ratio == pytest.approx(1.050, abs=1e-3)
    assert verdict.steps_ratio == pytest.approx(1.101, abs=1e-3)
    assert verdict.tokens_ratio == pytest.approx(0.954, abs=1e-3)
    assert sentence(verdict, NAMES) == (
        "B is 1.05× as fast as A, because steps/s rose to 1.10×, although tokens per step fell to 0.95×."
    )
    assert detail(verdict) == "115 against 110 tok/s · 95 % of resampled windows: 1.05× to 1.05×"


@pytest.mark.parametrize(
    ("steps_per_s", "tokens_per_step", "because"),
    [
        (20.0, 3.0, "because tokens per step rose to 3.00× and steps/s rose to 2.00×"),
        (5.0, 1.01, "because steps/s fell to 0.50×, while tokens per step stayed the same (1.01×)"),
        (10.19, 1.015, "because steps/s stayed the same (1.02×) and tokens per step stayed the same (1.01×)"),
    ],
)
def test_the_cause_is_what_went_the_way_of_the_speed(steps_per_s: float, tokens_per_step: float, because: str) -> None:
    a, b = windows(10.0, 1.0, wobble=0.0), windows(steps_per_s, tokens_per_step, wobble=0.0)
    assert because in sentence(compare(subject("a", a), a, subject("b", b, 5), b), NAMES)


def test_few_windows_tell_no_interval() -> None:
    a, b = windows(10.0, 1.0, n=5), windows(20.0, 1.0, n=5)
    verdict = compare(subject("a", a), a, subject("b", b, 5), b)
    assert verdict.interval is None and "no interval can be told" in (detail(verdict) or "")


def test_a_difference_inside_the_noise_is_not_told_as_one() -> None:
    a, b = windows(100.0, 1.0, wobble=0.3), windows(101.0, 1.0, wobble=0.3)
    assert sentence(compare(subject("a", a), a, subject("b", b, 5), b), NAMES).startswith("No difference shown")


def test_an_unknown_factor_is_named_not_invented() -> None:
    a = [replace(w, steps=None, tokens_per_step=None) for w in windows(25.0, 4.0)]
    b = windows(50.0, 4.0)
    verdict = compare(subject("a", a), a, subject("b", b, 5), b)
    assert verdict.ratio == pytest.approx(2.0, rel=1e-3) and verdict.steps_ratio is verdict.tokens_ratio is None
    assert sentence(verdict, NAMES) == "B is 2.00× as fast as A, cause not known: there is no step counter."


def test_the_factor_that_is_known_is_told_and_the_other_not_made_from_it() -> None:
    """SGLang tells tokens per verify step, and counts no steps."""
    a, b = ([replace(w, steps=None, steps_per_s=None) for w in windows(25.0, per_step)] for per_step in (2.0, 3.0))
    verdict = compare(subject("a", a), a, subject("b", b, 5), b)
    assert (verdict.steps_ratio, verdict.tokens_ratio) == (None, pytest.approx(1.5))
    assert sentence(verdict, NAMES) == (
        "B is 1.50× as fast as A; tokens per step rose to 1.50×, the rest is not known: there is no step counter."
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"began_at": T0 + timedelta(seconds=30)}, "at the same time on one machine"),
        ({"neighbours": 2}, "B shared its machine with 2 other runs"),
        ({"unsent": 3}, "B did not finish its load: 3 of its requests were not sent"),
        ({"workload": "five"}, "different workloads"),
        ({"workload": "watch"}, "B had no workload of ours"),
        ({"prompt_set_hash": "def"}, "different prompt sets"),
        ({"workload_params": {"concurrency": 4}}, "set differently: concurrency"),
        ({"measure": "all tokens over the log window"}, "defined differently"),
        ({"summary": summarize([replace(w, window_s=5.0) for w in windows(10, 1)])}, "different windows"),
        ({"summary": summarize([])}, "B has no decode speed to rank: no window was recorded"),
        ({"summary": summarize([]), "state": "failed"}, "B failed: no window was recorded"),
        ({"summary": summarize([replace(w, requests_running=4.0) for w in windows(10, 1)])}, "different concurrency"),
    ],
)
def test_what_cannot_be_compared_is_not_ranked(changes: dict[str, object], words: str) -> None:
    its = windows(25.0, 2.0)
    a, b = subject("a", its), subject("b", its, 5)
    assert reasons_not_ranked(a, b) == []
    other = replace(b, **changes)  # type: ignore[arg-type]
    verdict = compare(a, its, other, its)
    assert not verdict.ranked and any(words in why_not_ranked(r, NAMES) for r in verdict.reasons), verdict.reasons


def test_steps_that_are_known_in_part_are_not_called_missing() -> None:
    a = [replace(w, steps=None) if i < 3 else w for i, w in enumerate(windows(25.0, 4.0))]
    factors = speed_factors(a)
    assert (
        factors
        and factors.steps_per_s is None
        and factors.reason == Reason(Code.STEPS_MISSING, values={"missing": 3, "active": 20})
    )


def test_other_hardware_is_named_among_the_causes() -> None:
    a, b = windows(25.0, 2.0), windows(50.0, 2.0)
    verdict = compare(subject("a", a), a, subject("b", b, machine_id="m2"), b)
    assert verdict.ranked and "different machines" in sentence(verdict, NAMES)


def test_a_live_run_overlaps_what_started_after_it() -> None:
    its = windows(25.0, 2.0)
    live = subject("a", its, ended_at=None)
    assert [r.code for r in reasons_not_ranked(live, subject("b", its, 30))] == [Code.OVERLAP]
    assert reasons_not_ranked(live, subject("b", its, 30, machine_id="m2")) == []


def test_a_run_that_still_waits_overlaps_nothing() -> None:
    its = windows(25.0, 2.0)
    waiting = subject("b", its, began_at=None, ended_at=None)
    assert reasons_not_ranked(subject("a", its, ended_at=None), waiting) == []


def test_summary_leaves_out_what_is_not_active() -> None:
    its = windows(25.0, 4.0) + [replace(w, activity="mixed", decode_tps=999.0) for w in windows(1, 1, 5)]
    summary = summarize(its)
    assert (summary.active_windows, summary.excluded_windows) == (20, 5)
    assert summary.peak_tps is not None and summary.peak_tps < 110
    assert summary.floor_tps <= summary.typical_low_tps <= summary.typical_tps <= summary.peak_tps  # type: ignore[operator]


def test_only_what_differs_is_shown_and_named() -> None:
    a = {"engine": "vllm", "port": 1, "max_model_len": 262144, "speculative": {"method": "mtp", "num_tokens": 4}}
    b = {"engine": "vllm", "port": 2, "max_model_len": 262144, "kv_cache_dtype": "fp8"}
    assert differing_fields([a, b]) == {
        "speculative.method": ["mtp", None],
        "speculative.num_tokens": [4, None],
        "kv_cache_dtype": [None, "fp8"],
    }
    assert chips(a, "vLLM") == ["vLLM", "mtp 4", "256K"]


def test_what_a_log_tells_fills_in_what_was_not_stated() -> None:
    told = {"engine_version": "0.21.0", "speculative_method": "mtp", "speculative_num_tokens": 3}
    assert chips(as_started({"engine": "vllm"}, told), "vLLM") == ["vLLM 0.21.0", "mtp 3"]
    asked = {"engine_version": "0.20", "speculative": {"method": None, "model": "d", "num_tokens": 4, "options": {}}}
    assert chips(as_started(asked, told), "vLLM") == ["vLLM 0.20", "mtp 4"]
    assert chips(as_started({"engine": "vllm"}, {"speculative_num_tokens": 3}), "vLLM") == ["vLLM"]
    assert chips(as_started({"engine": "vllm"}, None), "vLLM") == ["vLLM"]


def test_a_configuration_that_is_not_known_is_not_called_the_same() -> None:
    log = {"engine": "vllm", "launcher": "import"}
    assert not compare_configs([log, log]).is_same
    assert compare_configs([log, log]).unknown == [0, 1]
    known = {"engine": "vllm", "argv": ["vllm", "serve", "m"], "model": "m", "launcher": "import"}
    assert compare_configs([known, known]).is_same
    assert compare_configs([known, log]) == ({}, [1])


def test_what_a_watched_server_does_not_state_is_held_against_nothing() -> None:
    known = {"engine": "vllm", "argv": ["vllm", "serve", "m"], "model": "m", "dtype": "half"}
    watched = {"engine": "vllm", "model": "other"}
    assert compare_configs([known, watched]) == ({"model": ["m", "other"]}, [1])
    assert compare_configs([watched, watched]) == ({}, [0, 1])
