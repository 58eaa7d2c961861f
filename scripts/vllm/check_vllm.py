"""`make test-vllm`: attaches to a real vLLM with n-gram speculation, and compares its log and counters with the client.

Over a steady window under load all three must agree. Prints a table, exits 1 if they do not.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import httpx
import pyarrow as pa

from collectors.endpoints.endpoint import EndpointCollector
from collectors.logs.log_collector import log_collector
from collectors.loop import CollectorLoop
from demo.presets import free_ports
from domain import Config, Run, Speculation
from launcher.runs.supervisor import Supervisor
from load_records import RequestRecord
from settings import Settings
from storage.store import Store
from workloads.job import LoadJob
from workloads.requests.records import read_records

ROOT = Path(__file__).resolve().parent.parent.parent
TOLERANCE = 0.05
LOG_WINDOW_S = 10.0
READY_WITHIN_S = 900.0  # half a minute on an idle machine
NGRAM = '{"method":"ngram","num_speculative_tokens":4,"prompt_lookup_max":4}'
ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "OMP_NUM_THREADS": "1", "VLLM_NO_USAGE_STATS": "1"}


class Reading(NamedTuple):
    """Values of one source for the steady window; None: outside its definition."""

    source: str
    definition: str
    tps: float
    tokens_per_step: float | None = None
    acceptance_length: float | None = None
    acceptance_rate: float | None = None


@contextmanager
def serving(vllm: Path, model: Path, port: int, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the server during the block; its whole process group is gone afterwards."""
    command = [str(vllm / "bin/vllm"), "serve", str(model), "--served-model-name", "tiny", "--port", str(port)]
    command += ["--host", "127.0.0.1", "--enforce-eager", "--max-model-len", "2048", "--max-num-seqs", "8"]
    command += ["--speculative-config", NGRAM, "--per-request-spec-decode-metrics", "summary"]
    paths = f"{vllm / 'bin'}{os.pathsep}{os.environ['PATH']}"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=out, env=os.environ | ENVIRONMENT | {"PATH": paths}, start_new_session=True
        )
    try:
        wait_until(lambda: process.poll() is not None or is_ready(port), READY_WITHIN_S, "the server was not ready")
        if process.poll() is not None:
            sys.exit(f"vLLM ended with {process.returncode}:\n{log.read_text(errors='replace')[-3000:]}")
        yield process
    finally:
        end_group(process)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Send SIGTERM, then SIGKILL to the remaining processes: an engine core may outlive its API server."""
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/health").status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def wait_until(is_so: Callable[[], bool], limit_s: float, failure: str) -> None:
    ends = time.monotonic() + limit_s
    while not is_so():
        if time.monotonic() > ends:
            sys.exit(f"{failure} within {limit_s:g} s")
        time.sleep(0.2)


@contextmanager
def watched(store: Store, data_dir: Path, base_url: str, log: Path, pid: int) -> Iterator[Run]:
    """Attach the server as a run, collected as in the product."""
    supervisor = Supervisor(store, data_dir / "runs", events=store.write)
    collectors = [EndpointCollector(), log_collector(store.tail_position)]
    loop = CollectorLoop(store.write, supervisor.live_runs, collectors)
    supervisor.start()
    loop.start()
    speculation = Speculation(method="ngram", num_tokens=4)
    config = Config(engine="vllm", launcher="attach", model="tiny", speculative=speculation)
    run = supervisor.attach(base_url, config, log_path=log, pid=pid)
    try:
        yield run
    finally:
        loop.finish(supervisor.stop(run.id))
        loop.stop()
        supervisor.close()


def drive(run: Run, directory: Path, streams: int, seconds: float) -> list[RequestRecord]:
    """Keep this many streams busy for this long, then cancel the rest and return the client's records."""
    out = directory / "requests.jsonl"
    job = LoadJob(
        run_id=run.id, base_url=run.base_url or "", engine="vllm", workload="ladder", out=out,
        params={"endpoint": "completions", "tokens": 1000, "rungs": [streams], "repeats": 100, "temperature": 0.0},
        progress=directory / "progress.json",
    )  # fmt: skip
    spec = directory / "spec.json"
    spec.write_text(job.model_dump_json())
    client = subprocess.Popen([sys.executable, str(ROOT / "pitwall"), "load", str(spec)], cwd=ROOT)
    try:
        client.wait(seconds)
        sys.exit("the load was over before the window: the server is faster than this check thinks")
    except subprocess.TimeoutExpired:
        client.terminate()
    client.wait(30)
    return list(read_records(out.read_text().splitlines()))


def steady_window(store: Store, run: Run, records: Sequence[RequestRecord]) -> tuple[datetime, datetime]:
    """From the end of the first log window with all streams busy throughout to the last one, on the log's lines."""
    measured = [record for record in records if record.phase == "measure"]
    begin = min(record.sent_at for record in measured) + timedelta(seconds=2)
    end = max(ended_at(record) for record in measured) - timedelta(seconds=2)
    sql = "SELECT ts FROM log_samples WHERE run_id = ? AND ts >= ? AND ts <= ? ORDER BY ts"
    first = begin + timedelta(seconds=LOG_WINDOW_S)
    lines = store.query(sql, [run.id, first, end])["ts"].to_pylist()
    if len(lines) < 3:
        sys.exit(f"{len(lines)} log windows lie within the load: fewer than 3 say nothing; try more --seconds")
    return lines[0] - timedelta(seconds=LOG_WINDOW_S), lines[-1]


def ended_at(record: RequestRecord) -> datetime:
    return record.sent_at + timedelta(milliseconds=record.total_ms or 0.0)


def by_log(store: Store, run: Run, begin: datetime, end: datetime) -> Reading:
    sql = """
        SELECT definition, avg(generation_tps) AS tps,
            1 + ratio(sum(accepted_tokens), sum(accepted_tokens / nullif(acceptance_length - 1, 0))) AS length,
            ratio(sum(accepted_tokens), sum(drafted_tokens)) AS rate
        FROM log_samples WHERE run_id = ? AND ts > ? AND ts <= ? GROUP BY definition
    """
    row = only_row(store.query(sql, [run.id, begin, end]))
    return Reading("log", row["definition"], row["tps"], None, row["length"], row["rate"])


def by_counters(store: Store, run: Run, begin: datetime, end: datetime) -> Reading:
    sql = """
        SELECT definition, ratio(sum(printed_tokens), sum(dt_s)) AS tps,
            ratio(sum(step_tokens), sum(steps)) AS per_step, 1 + ratio(sum(accepted), sum(drafts)) AS length,
            ratio(sum(accepted), sum(draft_tokens)) AS rate
        FROM counter_intervals(NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, NULL::VARCHAR[])
        WHERE run_id = ? AND is_counted AND ts > ? AND ts <= ? GROUP BY definition
    """
    row = only_row(store.query(sql, [run.id, begin, end]))
    return Reading("counters", row["definition"], row["tps"], row["per_step"], row["length"], row["rate"])


def by_client(records: Sequence[RequestRecord], begin: datetime, end: datetime) -> Reading:
    """Count tokens spread evenly between a request's first and last one; drafts as the server reported at its end."""
    tokens = sum(tokens_within(record, begin, end) for record in records)
    counted = [r for r in records if r.draft_tokens and begin <= r.sent_at and ended_at(r) <= end]
    drafted = sum(record.draft_tokens or 0 for record in counted)
    rate = sum(record.accepted_tokens or 0 for record in counted) / drafted if drafted else None
    return Reading("client", "client.requests", tokens / (end - begin).total_seconds(), acceptance_rate=rate)


def tokens_within(record: RequestRecord, begin: datetime, end: datetime) -> float:
    """Return the tokens of an answer in this time; one that came in one piece counts when it came."""
    if not record.completion_tokens or record.ttft_ms is None:
        return 0.0
    first = record.sent_at + timedelta(milliseconds=record.ttft_ms)
    if not record.decode_ms:
        return float(record.completion_tokens) if begin < first <= end else 0.0
    last = first + timedelta(milliseconds=record.decode_ms)
    shared_s = (min(last, end) - max(first, begin)).total_seconds()
    return record.completion_tokens * max(0.0, shared_s) / (last - first).total_seconds()


def only_row(table: pa.Table) -> dict[str, object]:
    rows = table.to_pylist()
    if len(rows) != 1:
        sys.exit(f"{len(rows)} definitions where one was expected: {rows}")
    return dict(rows[0])


def table_of(readings: Sequence[Reading]) -> str:
    head = ["source", "definition", "tok/s", "tokens per step", "acceptance length", "acceptance rate"]
    rows = [[r.source, r.definition, *(formatted_number(number) for number in r[2:])] for r in readings]
    lines = [" | ".join(cells) for cells in [head, ["---"] * len(head), *rows]]
    return "\n".join(f"| {line} |" for line in lines)


def formatted_number(number: float | None) -> str:
    return "not known" if number is None else f"{number:.4g}"


def spreads(readings: Sequence[Reading]) -> dict[str, float]:
    """Return (largest - smallest) / smallest for each number that two or more sources know."""
    columns = {
        name: [value for r in readings if (value := getattr(r, name)) is not None] for name in Reading._fields[2:]
    }
    return {name: (max(values) - min(values)) / min(values) for name, values in columns.items() if len(values) > 1}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vllm", type=Path, help="the environment that scripts/install_vllm.sh made")
    parser.add_argument("model", type=Path, help="the folder that scripts/vllm/make_tiny_llama.py wrote")
    parser.add_argument("--streams", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=90.0)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        readings, window = measure(flags, Path(scratch))
    print(f"{flags.streams} streams, steady window of {window:.0f} s\n\n{table_of(readings)}\n")
    apart = spreads(readings)
    print(", ".join(f"{name.replace('_', ' ')} {share:.1%} apart" for name, share in apart.items()))
    missed = {"tps", "acceptance_length", "acceptance_rate"} - apart.keys()
    if missed:
        print(f"known to one source only: {', '.join(sorted(missed))}")
    return int(bool(missed) or max(apart.values()) > TOLERANCE)


def measure(flags: argparse.Namespace, scratch: Path) -> tuple[list[Reading], float]:
    port, log = free_ports(1)[0], scratch / "server.log"
    store = Store.open(Settings(data_dir=scratch / "data"))
    try:
        with (
            serving(flags.vllm.absolute(), flags.model.absolute(), port, log) as server,
            watched(store, scratch, f"http://127.0.0.1:{port}", log, server.pid) as run,
        ):
            records = drive(run, scratch, flags.streams, flags.seconds)
        begin, end = steady_window(store, run, records)
        readings = [
            by_log(store, run, begin, end),
            by_counters(store, run, begin, end),
            by_client(records, begin, end),
        ]
        return readings, (end - begin).total_seconds()
    finally:
        store.close()


if __name__ == "__main__":
    sys.exit(main())
