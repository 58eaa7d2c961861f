"""Reads the summary that `bench_multiturn.py` and `bench_mix.py` of SGLang print. Their times are in seconds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.tools.printed import number_or_text
from collectors.imports.results.tools.printed_block import PrintedBlock, blocks_among, model_of, read_blocks

TOOL = "sglang bench_multiturn.py"
PROGRAM = re.compile(r"\bbench_(?:multiturn|mix)\b")
NUMBER = r"\d{1,12}(?:\.\d{1,12})?"
OPENING = re.compile(
    rf"\s{{0,12}}Total requests: (?P<requests>\d{{1,9}})(?: at (?P<rate>{NUMBER}|inf) requests per second)?\s*"
)
DISTRIBUTION = re.compile(
    rf"\s{{0,12}}(?P<statistic>Average|Median|Max|P\d\d) (?P<what>TTFT|ITL|latency|Prompt Length|Output Length): "
    rf"(?P<number>{NUMBER})(?: tokens)?\s*"
)
LINE = re.compile(rf"\s{{0,12}}(?P<label>[A-Z][\w ()]{{2,60}}): (?P<value>{NUMBER})(?: (?P<unit>[a-z ]{{1,30}}))?\s*")
ROUNDS = re.compile(r"\s{0,12}(?:Per-round|Round) metrics:\s*")
ROUND = re.compile(rf"\s{{0,12}}Round (?P<round>\d{{1,4}}): Average TTFT = (?P<seconds>{NUMBER})s, .{{1,120}}")
DISTRIBUTIONS = {  # metric, factor
    "TTFT": ("ttft_ms", 1e3), "ITL": ("itl_ms", 1e3), "latency": ("e2e_ms", 1e3),
    "Prompt Length": ("prompt_tokens", 1.0), "Output Length": ("completion_tokens", 1.0),
}  # fmt: skip
TITLE = "Performance metrics summary:"
STATISTICS = {"Average": "mean", "Median": "median", "Max": "max"}
METRICS = {
    "Input token throughput": "prompt_tps",
    "Output token throughput": "output_tps",
    "Request Throughput": "request_tps",
    "Throughput": "request_tps",
}
LEAST_DISTRIBUTIONS = 2


def has_printed(content: str) -> bool:
    """Return whether a text contains such a summary."""
    return "Total requests: " in content and any(True for _ in _blocks(content.splitlines()))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each summary of a text, and the text with their lines left empty."""
    return read_blocks(content, _blocks, PROGRAM, _load_of, ticket, first_number)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the summaries; without a rate one is known by its latencies without units."""
    for start, end in blocks_among(lines, lambda line: _opening(line) is not None, _is_following):
        opening = _opening(lines[start])
        latencies = sum(DISTRIBUTION.fullmatch(line[:120]) is not None for line in lines[start:end])
        if latencies >= (1 if opening and opening["rate"] else LEAST_DISTRIBUTIONS):
            yield start - bool(start and lines[start - 1].strip() == TITLE), end


def _opening(line: str) -> re.Match[str] | None:
    return OPENING.fullmatch(line[:120])


def _is_following(line: str) -> bool:
    return any(pattern.fullmatch(line[:200]) for pattern in (LINE, ROUNDS, ROUND)) and not _opening(line)


def _load_of(block: PrintedBlock, ticket: Ticket, number: int) -> LoadBuilder:
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, number=number, model=model_of(block.command))
    opening = next((match for line in block.lines if (match := OPENING.fullmatch(line))), None)
    rate = opening["rate"] if opening else None
    point = MeasurementPoint(f"{rate} requests/s" if rate else "all requests")
    load.params |= {"request_rate": number_or_text(rate)} if rate else {}
    load.result(point, "requests", "total", number_or_text(opening["requests"] if opening else None))
    for line in block.lines:
        if match := DISTRIBUTION.fullmatch(line):
            statistic = STATISTICS.get(match["statistic"], match["statistic"].lower())
            metric, factor = DISTRIBUTIONS[match["what"]]
            load.result(point, metric, statistic, float(match["number"]), factor=factor)
        elif match := ROUND.fullmatch(line):
            round_point = point._replace(name=f"{point.name}, round {match['round']}")
            load.result(round_point, "ttft_ms", "mean", float(match["seconds"]), factor=1e3)
        elif (match := LINE.fullmatch(line)) and match["label"] in METRICS:
            load.result(point, METRICS[match["label"]], "mean", float(match["value"]))
        elif match and not OPENING.fullmatch(line):
            load.params[match["label"]] = number_or_text(match["value"])
    return load
