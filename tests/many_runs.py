"""Some ended runs in a store, of three draft lengths and two quantizations, for the pages that put runs together.

The numbers are made by formula and given as results of a load; nothing was measured.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from domain import Config, Run, RunState, Speculation, WorkloadSpec
from load_records import Load, Result
from samples import Batch, Event
from storage.store import Store

BEGAN = datetime(2026, 11, 20, 12, tzinfo=UTC)
WEIGHTS = {"files": 1, "bytes": 9, "sha256_of_headers": "h", "sha256_of_samples": "s"}
PROVENANCE = {
    "gpus": [],
    "model": {"name": "m", "files": {"config.json": {"sha256": "abc"}}, "weights": WEIGHTS},
    "package": "vllm 0.33.0",
}
STARTS = 3
HOSTILE = "<b>bold</b> $x$ [link](http://x)"


def many_runs(store: Store) -> list[Run]:
    """18 runs of six arms of three starts; one more of a hostile name, started once; and one that failed."""
    made = []
    for k in (0, 2, 4):
        for quantization in ("fp8", None):
            name = f"{quantization or 'bf16'} k={k}"
            speed = 100.0 * (1 + 0.12 * k) * (1.2 if quantization else 1.0)
            made += [_saved(store, name, k, quantization, speed * (1 + 0.01 * start), start) for start in range(STARTS)]
    made.append(_saved(store, HOSTILE, 1, "<i>q</i>", 90.0, 0))
    made.append(
        _saved(store, "did not start", 8, "fp8", None, 0, state=RunState.FAILED, cause="no room for the KV cache")
    )
    return made


def _saved(
    store: Store, name: str, k: int, quantization: str | None, stream_tps: float | None, start: int, **updates: object
) -> Run:
    number = len(store.runs())
    at = BEGAN + timedelta(hours=number)
    run = Run(
        id=f"20261120-{number:06d}-000-seed",
        name=f"{name} #{start + 1}" if start else name,
        color=number % 8,
        state=RunState.FINISHED,
        machine_id="m1",
        config=Config(
            engine="vllm",
            model="org/model",
            quantization=quantization,
            gpu_memory_fraction=0.85 if k == 4 else 0.9,
            prefix_caching=False if k == 0 else None,
            argv=("vllm", "serve", "org/model", f"--k={k}"),
            speculative=Speculation(method="ngram", num_tokens=k) if k else None,
        ),
        workload=WorkloadSpec(name="ladder"),
        created_at=at,
        started_at=at,
        ready_at=at + timedelta(seconds=20 + k),
        ended_at=at + timedelta(minutes=5),
        provenance=PROVENANCE,
    ).model_copy(update=updates)
    store.save_run(run)
    if stream_tps is not None:
        store.write(Batch(tuple(_rows(run, stream_tps)))).result()
    return run


def _rows(run: Run, stream_tps: float) -> list[Load | Result | Event]:
    """A load at 1, 4 and 8 requests at once, and what the log says of the start."""
    at = run.ended_at or run.created_at
    fields = {"run_id": run.id, "load_id": "load", "ts": at, "definition": "pitwall"}
    rows: list[Load | Result | Event] = [Load(run.id, "load", at, "pitwall", "ladder", params={"rungs": 3})]
    for streams in (1, 4, 8):
        there = {"point": f"{streams} at once", "concurrency": streams, "n": 8}
        each = stream_tps / streams**0.3
        rows.append(Result(**fields, **there, metric="decode_tps", statistic="median", unit="tok/s", value=each))  # type: ignore[arg-type]
        rows.append(
            Result(**fields, **there, metric="output_tps", statistic="mean", unit="tok/s", value=each * streams)
        )  # type: ignore[arg-type]
        rows.append(Result(**fields, **there, metric="ttft_ms", statistic="median", unit="ms", value=80.0 * streams))  # type: ignore[arg-type]
    fact = {"key": "kv_cache_tokens", "value": int(stream_tps * 1_000)}
    return [*rows, Event(run.id, at, "startup", "KV cache", data=fact)]
