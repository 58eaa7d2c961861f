"""A scrape of one rank, and an interval of one scrape, are not grouped: the result equals the grouped one."""

from __future__ import annotations

from storage.store import Store

COUNTS = (
    "decode_tokens", "step_tokens", "steps", "decode_steps", "drafts", "draft_tokens", "accepted", "prompt_tokens",
    "preemptions", "running_before", "requests_running", "requests_waiting", "kv_usage_ratio",
)  # fmt: skip
SECONDS = ("covered_s", "decode_s", "step_s")
TEXTS = {"activity": ["active", "idle", "mixed"], "reason": ["no_step_counter"]}


def choice(name: str, values: list[str]) -> str:
    """Return SQL for one of these values or null, by chance that depends on the row and the column."""
    return f"[{', '.join([*values, 'NULL'])}][1 + (hash(second, '{name}') % {len(values) + 1})::BIGINT] AS {name}"


def progress(name: str, seconds: str, ranks: int) -> str:
    """Return SQL for random rows like those of the view `progress`."""
    columns = [choice(name, [f"{value}::DOUBLE" for value in (0, 1, 2, 7, 40)]) for name in COUNTS]
    columns += [choice(name, ["0.5::DOUBLE", "1.0::DOUBLE"]) for name in SECONDS]
    columns += [choice(name, [f"'{text}'" for text in texts]) for name, texts in TEXTS.items()]
    columns += [choice("accepted_per_pos", ["[3.0, 1.0]::DOUBLE[]", "[4.0, NULL]::DOUBLE[]"])]
    bridged = "{{'tokens': 30.0, 's': 6.0, 'steps': {}, 'drafts': NULL::DOUBLE, 'accepted': 4.0}}"
    columns += [choice("bridged", [bridged.format("10.0::DOUBLE"), bridged.format("NULL::DOUBLE")])]
    return f"""
        SELECT '{name}' AS run_id, 'counter' AS source, 'vllm.counter' AS definition, engine_index,
            TIMESTAMPTZ '2026-11-20 12:00:00+00' + to_seconds(second) AS ts, second::DOUBLE AS mono_s,
            1.0::DOUBLE AS dt_s, {", ".join(columns)}
        FROM range({seconds}) seconds(second), range({ranks}) ranks(engine_index)
    """


def test_scrapes_of_one_rank_equal_grouped_ones(store: Store) -> None:
    two_ranks_at_last = f"{progress('grouped', '2000', 1)} UNION ALL {progress('grouped', '2000, 2001', 2)}"
    sql = f"""
        WITH moved AS ({progress("single", "2000", 1)} UNION ALL {two_ranks_at_last})
        SELECT * EXCLUDE (since_ready_s) FROM scrape_sums_in('moved', false, NULL::VARCHAR[])
        WHERE mono_s < 2000 AND run_id = $run_id ORDER BY mono_s
    """
    single, grouped = (store.query(sql, {"run_id": run_id}).drop_columns("run_id") for run_id in ("single", "grouped"))
    assert len(single) == 2000
    assert single.to_pylist() == grouped.to_pylist()


def test_intervals_equal_windows_of_one_scrape(store: Store) -> None:
    sql = f"""
        WITH moved AS ({progress("single", "2000", 1)}),
        sums AS (SELECT * REPLACE (mono_s AS since_ready_s) FROM scrape_sums_in('moved', false, NULL::VARCHAR[]))
        FROM rates_in('sums', $w::DOUBLE, false, NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ) ORDER BY ts
    """
    intervals, windows = (store.query(sql, {"w": width}) for width in (None, 0.25))
    assert len(intervals) == 2000
    assert intervals.to_pylist() == windows.to_pylist()
