"""Counts the functions that three paths through Pitwall enter: `.venv/bin/python -m scripts.count_walks`.

The paths: from a pasted command to a process, from a log line to a frame of Live, from stored samples to the answer of
Compare. docs/architecture.md has the counts.
"""

from __future__ import annotations

import json
import sys
import tarfile
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from collectors.logs.log_collector import log_collector
from commands.explain import explain_with_secrets
from domain import Config, Run, RunState, utc_now
from launcher.checks.launch_request import LaunchRequest
from launcher.runs.supervisor import Supervisor
from reports.arms.comparison import comparison_of
from settings import Settings
from storage.store import Store
from tests.launcher.servers import DictStore, server_argv, wait_for_state
from tests.ports import free_ports
from web.compare.answer.sentence import answer_sentence
from web.live.protocol import encode
from web.live.reader import StoreReader

ROOT = Path(__file__).resolve().parents[1]
FIXTURE = ROOT / "tests" / "fixtures" / "store_0160"
LINE = (
    "INFO 11-20 12:00:07 [loggers.py:257] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: "
    "107.2 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.0%, Prefix cache hit rate: 0.0%\n"
)
UNNAMED = ("<module>", "<lambda>", "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>")
OF_INTEREST = ("expand_config", "hide_secrets", "missing_secrets", "port_of", "log_parser")


def count_calls(walk: Callable[[], None]) -> Counter[tuple[str, str]]:
    """Count how often each function of Pitwall is entered, in all threads, by file and name."""
    calls: Counter[tuple[str, str]] = Counter()

    def note(frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        path = Path(code.co_filename)
        if event == "call" and path.is_relative_to(ROOT) and code.co_name not in UNNAMED:
            folder = path.relative_to(ROOT).parts[0]
            if folder not in ("tests", "scripts", ".venv"):
                calls[str(path.relative_to(ROOT)), code.co_qualname] += 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        walk()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]  # None ends it
    return calls


def report(title: str, calls: Counter[tuple[str, str]]) -> None:
    files = {path for path, _ in calls}
    steps = {name: sum(n for (_, full), n in calls.items() if full == name) for name in OF_INTEREST}
    steps_text = ", ".join(f"{name} {count}" for name, count in steps.items() if count)
    print(f"{title}: {len(calls)} functions in {len(files)} files. {steps_text}")


def count_launch(folder: Path) -> None:
    """Count for a pasted command with a secret that starts immediately."""
    (port,) = free_ports(1)
    store = DictStore()
    supervisor = Supervisor(store, folder / "runs", events=store.take)
    supervisor.adopt_all()

    def launch() -> None:
        paste = f"env HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz vllm serve org/model --port {port}"
        explanation, secrets = explain_with_secrets(paste)
        assert explanation.config
        server = {"argv": tuple(server_argv(port)), "port": port, "host": "127.0.0.1"}
        config = explanation.config.model_copy(update=server)
        run = supervisor.launch(LaunchRequest(config=config, ready_path="/health", secrets=secrets))
        wait_for_state(store, run.id, RunState.STARTING)

    supervisor.start()
    report("paste to process", count_calls(launch))
    supervisor.close(stop_servers=True)


def count_log_line(folder: Path) -> None:
    """Count for two new lines of a collected and watched log."""
    log, now = folder / "server.log", utc_now()
    log.touch()
    store = Store.open(Settings(data_dir=folder / "data"))
    run = Run(id="r1", name="A", color=0, config=Config(engine="vllm"), machine_id="m", created_at=now,
              started_at=now, ready_at=now, state=RunState.RUNNING, log_path=str(log))  # fmt: skip
    store.save_run(run)
    collector, reader = log_collector(store.tail_position), StoreReader(lambda: store)
    list(collector.collect(run))
    reader.snapshots([run.id])

    def follow() -> None:
        log.write_text(LINE * 2)
        for batch in [*collector.collect(run), *collector.finish(run)]:
            store.write(batch).result()
        encode(reader.snapshots([run.id])[run.id], 0.0)

    report("log line to frame", count_calls(follow))
    store.close()


def count_answer(folder: Path) -> None:
    """Count for a comparison of the demo's nine starts."""
    with tarfile.open(FIXTURE / "store.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    run_ids = json.loads((FIXTURE / "expected.json").read_text())["compare"][0]["runs"]
    store = Store.open(Settings(data_dir=folder / "data"))

    def compare() -> None:
        for answer in comparison_of(store, store.runs_of(run_ids)).answers:
            answer_sentence(answer, {})

    report("samples to sentence", count_calls(compare))
    store.close()


def main() -> None:
    for count in (count_launch, count_log_line, count_answer):
        with tempfile.TemporaryDirectory() as folder:
            count(Path(folder))


if __name__ == "__main__":
    main()
