"""What `vllm bench serve` and `sglang.bench_serving` save: one object a measurement, seconds between pieces in lists.

Their deviations divide by n. Bare Infinity and NaN are no JSON; they are taken for what they say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from collectors.imports.results.builder import LoadBuilder, Point, Ticket
from collectors.imports.results.errors import error_kind
from collectors.imports.results.source import Source
from collectors.imports.results.values import after, count, dict_of, item, list_of, number, pieces_us, scaled, text
from reasons import Code, Reason

VLLM, SGLANG = "vllm bench serve", "sglang.bench_serving"
LATENCIES = {"ttft": "ttft_ms", "tpot": "tpot_ms", "itl": "itl_ms", "e2el": "e2e_ms", "e2e_latency": "e2e_ms"}
STATISTIC = re.compile(r"(?P<statistic>mean|median|max|p\d{1,2}(?:\.\d{1,2})?)_(?P<what>[a-z0-9_]+)_ms")
TOTALS = {
    "output_throughput": ("output_tps", "mean"),
    "total_token_throughput": ("total_tps", "mean"),
    "total_throughput": ("total_tps", "mean"),
    "input_throughput": ("prompt_tps", "mean"),
    "request_throughput": ("request_tps", "mean"),
    "request_goodput": ("goodput_rps", "mean"),
    "duration": ("duration_s", "total"),
    "completed": ("requests", "total"),
    "failed": ("failed_requests", "total"),
    "max_output_tokens_per_s": ("peak_output_tps", "max"),
    "max_concurrent_requests": ("peak_concurrency", "max"),
    "concurrency": ("mean_concurrency", "mean"),
    "accept_length": ("acceptance_length", "mean"),
    "spec_decode_acceptance_length": ("acceptance_length", "mean"),
}
LISTS = {"input_lens", "output_lens", "ttfts", "itls", "latencies", "start_times", "queue_times", "generated_texts",
         "errors", "server_info"}  # fmt: skip


def recognise(head: str) -> bool:
    """Whether a file begins as one of these does."""
    begins = head.lstrip().startswith("{")
    is_one = any(mark in head for mark in ('"endpoint_type"', '"tokenizer_id"', '"sharegpt_output_len"'))
    return begins and is_one and '"max_concurrency"' in head


def read(source: Source, ticket: Ticket) -> list[LoadBuilder]:
    """A load for each measurement of the file; raises ImportRefusedError."""
    return [
        _read_one(source, line, dict_of(result), ticket, place)
        for place, (line, result) in enumerate(_measurements(source), 1)
    ]


def _measurements(source: Source) -> list[tuple[int, Any]]:
    """One object in the whole file, however it is broken into lines, or one a line."""
    whole = source.text().strip()
    if "\n" not in whole or not _is_json(whole.split("\n", 1)[0]):
        return [(1, source.json())]
    return list(source.json_lines())


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _read_one(source: Source, line: int, result: Mapping[str, Any], ticket: Ticket, place: int) -> LoadBuilder:
    if number(result.get("request_throughput")) is None or count(result.get("completed")) is None:
        raise source.refusal(line, "this is no whole result: it says no requests and no throughput")
    load = _load_of(result, ticket, place)
    at_once = count(result.get("max_concurrency"))
    point = _point(result, at_once)
    for name, (metric, statistic) in TOTALS.items():
        if result.get(name) is not None:
            about = [Reason(Code.COUNTS_PIECES)] if metric == "peak_output_tps" else []
            load.result(point, metric, statistic, result[name], reasons=about)
    _add_latencies(load, point, result)
    _add_requests(load, result, at_once)
    return load


def _load_of(result: Mapping[str, Any], ticket: Ticket, place: int) -> LoadBuilder:
    is_vllm = "tokenizer_id" in result
    server = dict_of(result.get("server_info"))
    ended = _ended(result.get("date"), ticket)
    began = after(ended, -(number(result.get("duration")) or 0.0))
    params = {name: value for name, value in result.items() if name not in LISTS and name not in TOTALS
              and not STATISTIC.fullmatch(name) and not name.startswith(("std_", "total_"))
              and isinstance(value, str | int | float | bool)}  # fmt: skip
    return LoadBuilder(
        ticket, VLLM if is_vllm else SGLANG, None, VLLM if is_vllm else SGLANG, began, number=place,
        params={name: value for name, value in params.items() if name != "date"},
        planned_requests=count(result.get("num_prompts")),
        model=text(result.get("model_id")) or text(server.get("model_path")),
    )  # fmt: skip


def _ended(date: Any, ticket: Ticket) -> datetime:
    """The date that the file gives is of this machine's zone, as far as anybody knows."""
    try:
        return datetime.strptime(str(date), "%Y%m%d-%H%M%S").astimezone(UTC)
    except ValueError:
        return ticket.dated


def _point(result: Mapping[str, Any], at_once: int | None) -> Point:
    wanted = [count(result.get(f"random_{which}_len")) for which in ("input", "output")]
    sizes = wanted if all(size is not None for size in wanted) else [_only(result, "input"), _only(result, "output")]
    words = f"{at_once} at once" if at_once else f"{result.get('request_rate')} requests/s"
    shape = f"pp{sizes[0]} tg{sizes[1]} " if None not in sizes else ""
    return Point(f"{shape}{words}", at_once, sizes[0], sizes[1])


def _only(result: Mapping[str, Any], which: str) -> int | None:
    """The length of all prompts or answers, where it is one."""
    lengths = set(map(count, list_of(result.get(f"{which}_lens"))))
    return lengths.pop() if len(lengths) == 1 else None


def _add_latencies(load: LoadBuilder, point: Point, result: Mapping[str, Any]) -> None:
    for name, value in result.items():
        found = STATISTIC.fullmatch(name)
        metric = LATENCIES.get(found["what"]) if found else None
        if found is None or metric is None or value is None:
            continue
        n, is_mean = _values_of(found["what"], result), found["statistic"] == "mean"
        spread = result.get(f"std_{found['what']}_ms") if is_mean else None
        statistic = found["statistic"].replace("p50", "median")
        load.result(point, metric, statistic, value, n=n, population_sd=spread)


def _values_of(what: str, result: Mapping[str, Any]) -> int | None:
    """How many values a statistic was made of, where the file lets one count."""
    if what == "tpot":
        lengths = [count(length) for length in list_of(result.get("output_lens"))]
        return sum(length is not None and length > 1 for length in lengths) or None
    if what == "itl":
        return sum(len(list_of(gaps)) for gaps in list_of(result.get("itls"))) or None
    return count(result.get("completed"))


# --- requests ---------------------------------------------------------------------------------------------------------
def _add_requests(load: LoadBuilder, result: Mapping[str, Any], at_once: int | None) -> None:
    ttfts, lengths = list_of(result.get("ttfts")), list_of(result.get("output_lens"))
    starts = list_of(result.get("start_times"))
    first = min(filter(None, map(number, starts)), default=0.0)
    for place in range(len(ttfts)):
        sent_s = number(item(starts, place))
        since_s = None if sent_s is None else sent_s - first
        load.request(
            **_request(result, place, ttfts, lengths),
            phase="measure", prompt_class="-", stream=0, concurrency=at_once or len(ttfts),
            sent_at=after(load.ts, since_s or 0.0), since_phase_s=since_s, phase_index=0, sequence=place,
            extra={} if since_s is not None else {"sent_at": "the file does not say when: that of its first request"},
        )  # fmt: skip
    if ttfts:
        duration = number(result.get("duration")) or 0.0
        load.phase(
            ts=after(load.ts, duration), phase_index=0, title=load.workload, kind="measure",
            concurrency=at_once or len(ttfts), began_at=load.ts, duration_s=duration, planned_requests=len(ttfts),
            is_complete=True,
        )  # fmt: skip


def _request(result: Mapping[str, Any], place: int, ttfts: Sequence[Any], lengths: Sequence[Any]) -> dict[str, Any]:
    gaps = [number(gap) for gap in list_of(item(list_of(result.get("itls")), place))]
    said = text(item(list_of(result.get("errors")), place))
    ttft_ms = None if said else scaled(ttfts[place], 1e3)
    total_ms = scaled(item(list_of(result.get("latencies")), place), 1e3)
    if total_ms is None and ttft_ms is not None and None not in gaps:
        total_ms = ttft_ms + 1e3 * sum(gap for gap in gaps if gap is not None)
    pieces = pieces_us(ttft_ms, gaps)
    return {
        "ttft_ms": ttft_ms,
        "total_ms": None if said else total_ms,
        "decode_ms": total_ms - ttft_ms if total_ms is not None and ttft_ms is not None else None,
        "prompt_tokens": count(item(list_of(result.get("input_lens")), place)),
        "completion_tokens": None if said else count(item(lengths, place)),
        "chunks": pieces and len(pieces),
        "chunk_us": pieces,
        "error_kind": error_kind(said) if said else None,
        "error_text": said,
    }
