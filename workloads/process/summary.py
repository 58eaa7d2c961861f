"""The text summary of a workload's results, a line per request and both aggregates where requests ran side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from analysis.loads.requests import (
    ClassSummary,
    aggregates,
    class_summaries,
    decode_tps,
    end_to_end_tps,
    tokens_per_step,
)
from load_records import VERDICTS, Check, RequestRecord


def summary(records: Sequence[RequestRecord]) -> str:
    """A block per phase in the order of the file; the warm-up is left out."""
    measured = [record for record in records if record.phase == "measure"]
    if not measured:
        return "No measured request."
    failed = sum(record.error_kind is not None for record in measured)
    lines = [f"{measured[0].workload} · run {measured[0].run_id} · {len(measured)} requests, {failed} failed"]
    for title, group in groupby(measured, key=lambda record: record.extra.get("phase_title") or "Requests"):
        together = list(group)
        lines += ["", f"── {title} " + "─" * max(3, 60 - len(title)), *map(request_line, together)]
        if together[0].concurrency > 1:
            lines += aggregate_lines(together)
    lines += ["", "── By class (medians) " + "─" * 42, *map(class_line, class_summaries(measured))]
    return "\n".join(lines)


def check_lines(checks: Sequence[Check]) -> list[str]:
    """A line per case and mode, a block a suite; none where nothing was checked."""
    lines: list[str] = []
    for suite, group in groupby(checks, key=lambda check: check.suite):
        together = list(group)
        passed = sum(check.is_pass is True for check in together)
        lines += ["", f"── {suite}: {passed} of {len(together)} pass " + "─" * 30, *map(check_line, together)]
    return [*lines, ""] if lines else []


def check_line(check: Check) -> str:
    """'pass       Single call, streaming', or what was wrong after it."""
    why = f": {check.why}" if check.why else ""
    return f"{VERDICTS[check.is_pass]:<10} {check.case_name}, {check.mode}{why}"


def request_line(record: RequestRecord) -> str:
    """'[Code    ]   512 tokens in  12.08 s =   42.3 tok/s, ...' or what went wrong."""
    seconds = (record.total_ms or 0.0) / 1000
    head = f"[{record.prompt_class:<11}] "
    rate = end_to_end_tps(record)
    if record.error_kind:
        return f"{head}failed after {seconds:.2f} s ({record.error_kind}): {record.error_text}"
    if rate is None:
        return f"{head}   ? tokens in {seconds:6.2f} s: the server did not count them"
    said = [f"{record.completion_tokens:5d} tokens in {seconds:6.2f} s = {rate:6.1f} tok/s end to end"]
    if (decode := decode_tps(record)) is not None:
        said.append(f"decode {decode:.1f}")
    if record.ttft_ms is not None:
        said.append(f"first token {record.ttft_ms:.0f} ms")
    if (per_step := tokens_per_step(record)) is not None:
        said.append(f"{per_step:.2f} tokens per step")
    return head + ", ".join(said) + collapse_note(record)


def class_line(row: ClassSummary) -> str:
    """'Code        x1   decode 42.3 tok/s, first token 120 ms, 3.10 tokens per step, 71 % accepted'; '?' is unknown."""
    said = [f"decode {known(row.decode_tps, '.1f')} tok/s", f"end to end {known(row.end_to_end_tps, '.1f')}"]
    said.append(f"first token {known(row.ttft_ms, '.0f')} ms")
    if row.tokens_per_step is not None:
        said.append(f"{row.tokens_per_step:.2f} tokens per step")
    if row.acceptance_rate is not None:
        said.append(f"{row.acceptance_rate:.0%} accepted")
    if row.failed:
        said.append(f"{row.failed} of {row.requests} failed")
    if row.looping:
        said.append(f"{row.looping} looping, useful {known(row.useful_tps, '.1f')} tok/s")
    return f"{row.prompt_class:<12} x{row.concurrency:<3} " + ", ".join(said)


def known(value: float | None, form: str) -> str:
    """The value in this format, '?' where it is not known."""
    return "?" if value is None else format(value, form)


def collapse_note(record: RequestRecord) -> str:
    """What is said of a looping answer; '' where it does not loop."""
    found = record.extra.get("collapse")
    if not found or found["verdict"] == "none":
        return ""
    kind = "fast but looping" if found["verdict"] == "collapsed" else "looped for a while"
    return f" ({kind}: {found['looped_ratio']:.0%} of the text, from word {found['onset_word']})"


def aggregate_lines(records: Sequence[RequestRecord]) -> list[str]:
    """Both aggregates, named, for they differ."""
    found = aggregates(records)
    if found.wall_tps is None or found.sum_of_rates_tps is None or found.wall_s is None:
        return ["Together: unknown, no request ended with its tokens counted"]
    left_out = f" ({found.left_out} left out)" if found.left_out else ""
    return [
        f"Together: {found.tokens} tokens of {found.requests} requests in {found.wall_s:.2f} s{left_out}",
        f"  tokens over wall time  {found.wall_tps:7.1f} tok/s",
        f"  sum of request rates   {found.sum_of_rates_tps:7.1f} tok/s",
    ]
