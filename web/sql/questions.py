"""Questions to start from on the SQL page: those of README, of which a test knows that they are the same."""

from __future__ import annotations

from typing import NamedTuple


class RecipeQuery(NamedTuple):
    """A question in words, and the statement that answers it."""

    title: str
    sql: str


QUESTIONS = (
    RecipeQuery(
        "What ran, newest first, and how it ended.",
        "SELECT name, engine, quantization, kv_cache_dtype, speculative_method, state, cause "
        "FROM runs ORDER BY run_id DESC;",
    ),
    RecipeQuery(
        "Median decode speed of purely decoding moments, by definition.",
        "SELECT name, definition, median(decode_tps) AS decode_tps, count(*) AS samples\n"
        "FROM engine_samples JOIN runs USING (run_id) WHERE activity = 'active' GROUP BY ALL ORDER BY decode_tps DESC;",
    ),
    RecipeQuery(
        "Acceptance per draft position, over each run.",
        "SELECT name, source, acceptance_length, per_position[1] AS first, per_position[2] AS second\n"
        "FROM acceptance_of(NULL) JOIN runs USING (run_id) WHERE acceptance_length IS NOT NULL;",
    ),
    RecipeQuery(
        "Time to the first token by kind of prompt, as the client measured it.",
        "SELECT name, prompt_class, quantile_cont(ttft_ms, [0.5, 0.95]) AS ttft_ms, count(error_kind) AS failed\n"
        "FROM requests JOIN runs USING (run_id) WHERE requests.phase = 'measure' GROUP BY ALL;",
    ),
    RecipeQuery(
        "Compatibility: which models, engines and GPUs work together, and why others do not.",
        "SELECT model, engine, engine_version, quantization, gpus, outcome, starts, cause "
        "FROM compatibility ORDER BY outcome, model;",
    ),
    RecipeQuery(
        "Prefill speed and request rate at each concurrency, as Compare shows them.",
        "SELECT name, title, concurrency, value, unit, reason\n"
        "FROM metrics JOIN runs USING (run_id) WHERE metric IN ('prompt_tps', 'request_tps') ORDER BY ALL;",
    ),
    RecipeQuery(
        "Do the engine's log and its counters agree over the same seconds?",
        "SELECT name, median(relative_difference) AS typical_difference, count(*) AS windows\n"
        "FROM samples_crosscheck JOIN runs USING (run_id) WHERE relative_difference IS NOT NULL GROUP BY name;",
    ),
)
