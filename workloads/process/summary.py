"""Text summary of a workload's results: one line per request, and both aggregates of concurrent requests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from analysis.evidence.loads import decode_tps
from analysis.loads.requests import (
    ClassSummary,
    aggregates,
    class_summaries,
    end_to_end_tps,
    tokens_per_step,
)
from load_records import VERDICTS, RequestRecord, SuiteCheck


def summary(records: Sequence[RequestRecord]) -> str:
    """Return a block per phase in the order of the file, without the warm-up."""
    measured = [record for record in records if record.phase == "measure"]
    if not measured:
        return "No measured request."
    failed = sum(record.error_kind is not None for record in measured)
    lines = [f"{measured[0].workload} · run {measured[0].run_id} · {len(measured)} requests, {failed} failed"]
    for title, group in groupby(measured, key=lambda record: record.extra.get("phase_title") or "Requests"):
        phase_records = list(group)
        lines += ["", f"── {title} " + "─" * max(3, 60 - len(title)), *map(request_line, phase_records)]
        if phase_records[0].concurrency > 1:
            lines += aggregate_lines(phase_records)
    lines += ["", "── By class (medians) " + "─" * 42, *map(class_line, class_summaries(measured))]
    return "\n".join(lines)


def check_lines(checks: Sequence[SuiteCheck]) -> list[str]:
    """Return a block per suite with a line per case and mode; nothing without checks."""
    lines: list[str] = []
    for suite, group in groupby(checks, key=lambda check: check.suite):
        suite_checks = list(group)
        passed = sum(check.is_pass is True for check in suite_checks)
        lines += ["", f"── {suite}: {passed} of {len(suite_checks)} pass " + "─" * 30, *map(check_line, suite_checks)]
    return [*lines, ""] if lines else []


def check_line(check: SuiteCheck) -> str:
    """Return 'pass       Single call, streaming', with the faults if there are any."""
    reason = f": {check.why}" if check.why else ""
    return f"{VERDICTS[check.is_pass]:<10} {check.case_name}, {check.mode}{reason}"


def request_line(record: RequestRecord) -> str:
    """Return '[Code    ]   512 tokens in  12.08 s =   42.3 tok/s, ...', or the error."""
    seconds = (record.total_ms or 0.0) / 1000
    head = f"[{record.prompt_class:<11}] "
    rate = end_to_end_tps(record)
    if record.error_kind:
        return f"{head}failed after {seconds:.2f} s ({record.error_kind}): {record.error_text}"
    if rate is None:
        return f"{head}   ? tokens in {seconds:6.2f} s: the server did not count them"
    parts = [f"{record.completion_tokens:5d} tokens in {seconds:6.2f} s = {rate:6.1f} tok/s end to end"]
    if (decode := decode_tps(record)) is not None:
        parts.append(f"decode {decode:.1f}")
    if record.ttft_ms is not None:
        parts.append(f"first token {record.ttft_ms:.0f} ms")
    if (per_step := tokens_per_step(record)) is not None:
        parts.append(f"{per_step:.2f} tokens per step")
    return head + ", ".join(parts) + collapse_note(record)


def class_line(row: ClassSummary) -> str:
    """Return 'Code        x1   decode 42.3 tok/s, first token 120 ms, 3.10 tokens per step, ...'; '?': unknown."""
    parts = [
        f"decode {format_value(row.decode_tps, '.1f')} tok/s",
        f"end to end {format_value(row.end_to_end_tps, '.1f')}",
    ]
    parts.append(f"first token {format_value(row.ttft_ms, '.0f')} ms")
    if row.tokens_per_step is not None:
        parts.append(f"{row.tokens_per_step:.2f} tokens per step")
    if row.acceptance_rate is not None:
        parts.append(f"{row.acceptance_rate:.0%} accepted")
    if row.failed:
        parts.append(f"{row.failed} of {row.requests} failed")
    if row.looping:
        parts.append(f"{row.looping} looping, useful {format_value(row.useful_tps, '.1f')} tok/s")
    return f"{row.prompt_class:<12} x{row.concurrency:<3} " + ", ".join(parts)


def format_value(value: float | None, form: str) -> str:
    """Format a value; '?' if it is unknown."""
    return "?" if value is None else format(value, form)


def collapse_note(record: RequestRecord) -> str:
    """Return the note on a looping answer; '' if it does not loop."""
    collapse = record.extra.get("collapse")
    if not collapse or collapse["verdict"] == "none":
        return ""
    kind = "fast but looping" if collapse["verdict"] == "collapsed" else "looped for a while"
    return f" ({kind}: {collapse['looped_ratio']:.0%} of the text, from word {collapse['onset_word']})"


def aggregate_lines(records: Sequence[RequestRecord]) -> list[str]:
    """Return both aggregates with their names, since they differ."""
    totals = aggregates(records)
    if totals.wall_tps is None or totals.sum_of_rates_tps is None or totals.wall_s is None:
        return ["Together: unknown, no request ended with its tokens counted"]
    left_out = f" ({totals.left_out} left out)" if totals.left_out else ""
    return [
        f"Together: {totals.tokens} tokens of {totals.requests} requests in {totals.wall_s:.2f} s{left_out}",
        f"  tokens over wall time  {totals.wall_tps:7.1f} tok/s",
        f"  sum of request rates   {totals.sum_of_rates_tps:7.1f} tok/s",
    ]
