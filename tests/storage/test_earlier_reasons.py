"""Reasons that an earlier Pitwall stored as sentences are read as codes, from the file and from sealed files alike."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from domain import Config, Run
from load_records import Accuracy, Result
from reasons import Code, Reason, read_reason, write_reasons
from samples import Batch
from settings import Settings
from storage.store import Store
from web.words import reasons_in_words

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
CHUNKS = "before 0.4.0 it counts chunks, not tokens: with speculation too low by about the acceptance length"
SENTENCES = {  # with values -> as they are read
    "no sd: ± 5.2, of how many values is not stated": "spread_count_not_told spread=5.2",
    "2 of 3 values are there": "values_missing present=2 wanted=3",
    "limits at p95: TTFT 2000 ms, TPOT 1e+06 ms": "limits_at_p95 ttft_ms=2000 tpot_ms=1e+06",
    "even 1 at once broke a limit": "lowest_rung_broke users=1",
    "3 of 20 items got no answer: errors, not answers": "items_without_answer errors=3 items=20",
    "not scored yet: 4 items, 1 of them errors": "not_scored_yet items=4 errors=1",
    f"2 of 3 values are there; {CHUNKS}; no sd: one value has none":
        "values_missing present=2 wanted=3; counts_chunks; sd_of_one_value",
}  # fmt: skip
REWORDED = {"one request has no sd", "of one phase"}
FOREIGN = ("the file says 'a; b', which is no number", "1 of 2 values are there and more", "", "it is; as it is")


@pytest.fixture
def store(settings: Settings) -> Store:
    return Store.open(settings, clock=lambda: NOW + timedelta(hours=1))


def reasons_of(store: Store, view: str) -> list[str | None]:
    return list(store.query(f"SELECT reason FROM {view} ORDER BY load_id")["reason"].to_pylist())


def put(store: Store, *reasons: str | None) -> None:
    about = "tok/s", "pitwall"
    rows = [Result("r1", f"{n:03}", NOW, "p", "output_tps", "mean", *about, reason=r) for n, r in enumerate(reasons)]
    shares = [Accuracy("r1", f"{n:03}", NOW, "t", "none", "acc", reason=r) for n, r in enumerate(reasons)]
    store.save_run(Run(id="r1", name="r1", color=0, config=Config(), machine_id="m", created_at=NOW, ended_at=NOW))
    store.write(Batch((*rows, *shares))).result()


def test_sentences_are_codes_before_and_after_sealing(store: Store) -> None:
    put(store, *SENTENCES, *FOREIGN, "sd_of_one_value", None)
    wanted = [*SENTENCES.values(), *FOREIGN, "sd_of_one_value", None]
    assert reasons_of(store, "results") == reasons_of(store, "accuracy") == wanted
    assert store.seal() == 2
    assert reasons_of(store, "results") == reasons_of(store, "accuracy_of(['r1'])") == wanted
    kept = store.query("SELECT count(*) AS n FROM raw.results")["n"].to_pylist()
    assert kept == [0], "what was read came from the sealed file, which still has the sentences"
    store.close()


def test_a_sentence_read_as_a_code_has_its_words_again(store: Store) -> None:
    known = store.query("SELECT unnest(map_entries(earlier_reasons())) AS one")["one"].to_pylist()
    assert len(known) > 20
    for sentence, code in [*((one["key"], one["value"]) for one in known), *SENTENCES.items()]:
        assert all(part.split()[0] in set(Code) for part in code.split("; ")), code
        assert reasons_in_words(code) == sentence or sentence in REWORDED
    store.close()


@pytest.mark.parametrize("text", ["a; b", "x=1 y=2", "100 %", "%41", "", "\ud800", "two\nlines", "a\u00a0b", "ü"])
def test_a_value_that_a_file_said_comes_back_whole(text: str) -> None:
    told = Reason(Code.NOT_A_NUMBER, values={"text": text})
    written = write_reasons([told, Reason(Code.SD_OF_ONE_VALUE)]) or ""
    assert written.isascii() and written.endswith("; sd_of_one_value")
    back = read_reason(written.split("; ")[0])
    assert back == (told if text != "\ud800" else Reason(Code.NOT_A_NUMBER, values={"text": "?"}))
    assert write_reasons([]) is None
