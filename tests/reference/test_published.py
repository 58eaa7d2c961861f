"""Published numbers are data with their line, and contradictions stand beside them."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from reference.published import load_published
from reports.arms.claims import doubts
from tests.reference.published_commands import COMMANDS

CORPUS = os.environ.get("PITWALL_CORPUS")


def test_every_number_has_config_source_and_line() -> None:
    published = load_published()
    assert len(published) == 23
    numbers = [number for value in published.values() for number in value.numbers]
    assert len(numbers) == 417
    assert all(number.line > 0 and number.value for number in numbers)


def test_a_known_number_says_what_it_is() -> None:
    b = load_published()["s000.B"]
    peak = b.find("decode_tps_peak")
    assert peak and (peak.value, peak.unit, peak.line, peak.title) == ("115.3", "tok/s", 14, "Decode speed peak")
    assert b.source.title.startswith("Gemma 4 31B on vLLM/SGLang")
    assert b.fields["context_len"] == ("262144", 114)
    assert b.find("no such metric") is None


def test_contradiction_is_only_beside_its_number() -> None:
    published = load_published()
    doubted = {(key, n.metric) for key, value in published.items() for n in value.numbers if n.id in doubts()}
    assert ("s000.B", "kv_capacity_tokens") in doubted and ("s004.turbo", "decode_tps_batched") in doubted
    assert ("s000.B", "decode_tps_peak") not in doubted
    tests = [n.conditions for n in published["s001.fp8_tp1"].numbers if n.metric == "tg_tps" and n.id in doubts()]
    assert tests and all(test["pp"] == "2048" and test["depth"] == "0" for test in tests)


def test_a_hedged_number_keeps_its_hedge() -> None:
    published = load_published()
    hedged = {("s002.gptq_mtp7", "accept_rate_mean"): "above", ("s000.D", "decode_tps_peak"): "about"}
    for (key, metric), bound in hedged.items():
        number = published[key].find(metric)
        assert number and number.bound == bound
    exact = published["s000.A"].find("decode_tps_peak")
    assert exact and exact.bound == ""


def test_seven_commands_are_printed_in_full() -> None:
    assert len(COMMANDS) == 7 and {command.config for command in COMMANDS} <= load_published().keys()


@pytest.mark.skipif(not CORPUS, reason="PITWALL_CORPUS names no folder to compare with")
def test_nothing_was_lost_or_changed_on_the_way() -> None:
    facts = Path(str(CORPUS)).parent / "reference/facts"
    if not facts.is_dir():
        pytest.skip("the facts do not lie beside the corpus")
    with (facts / "all_measurements.csv").open(newline="") as file:
        rows = sorted(
            (r["config"], r["metric"], r["value"], r["unit"], int(r["src_line"])) for r in csv.DictReader(file)
        )
    ours = [(key, n.metric, n.value, n.unit, n.line) for key, value in load_published().items() for n in value.numbers]
    assert sorted(ours) == rows
