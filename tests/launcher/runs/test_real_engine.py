"""The demo's llama.cpp servers under the workload process, in a queue, on the real store."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from demo.model import TINY
from demo.presets import demo_configs
from domain import Run, RunState
from launcher.checks.launch_request import LaunchRequest
from launcher.runs.supervisor import Supervisor
from settings import Settings
from storage.store import Store
from tests.launcher.servers import marked, wait_for_state
from workloads import spec_for
from workloads.job import LoadJob
from workloads.process.prepare import COMMAND_LINE
from workloads.requests.records import read_records

FINAL = (RunState.FINISHED, RunState.FAILED)


def workload_argv(run: Run, directory: Path) -> list[str]:
    assert run.workload
    job = LoadJob(
        run_id=run.id,
        base_url=str(run.base_url),
        engine=run.config.engine,
        workload=run.workload.name,
        params=run.workload.params,
        out=directory / "requests.jsonl",
        progress=directory / "progress.json",
    )
    (directory / "plan.json").write_text(job.model_dump_json())
    return [sys.executable, str(COMMAND_LINE), "load", str(directory / "plan.json")]


@pytest.mark.engine
def test_a_queue_of_real_servers_is_gone_through(tmp_path: Path) -> None:
    store = Store.open(Settings(data_dir=tmp_path))
    workload = spec_for("demo-stream", {"requests": 2, "tokens": 40, "warmup_tokens": 4})
    supervisor = Supervisor(store, tmp_path / "runs", events=store.write, prepare_workload=workload_argv)
    supervisor.start()
    try:
        requests = [
            LaunchRequest(demo_config.config, name=demo_config.name, workload=workload, makes_model=True)
            for demo_config in demo_configs(tmp_path, shape=TINY)[:2]
        ]
        runs = supervisor.launch_batch(requests, one_after_the_other=True)
        ended = [wait_for_state(store, run.id, *FINAL) for run in runs]
    finally:
        supervisor.close(stop_servers=True)
        store.close()
    for run in ended:
        assert run.state is RunState.FINISHED, run.cause
        assert run.exit_code == 0 and run.ready_at and marked(run.id) == []
        assert run.log_path and "llama" in Path(run.log_path).read_text()
        records = list(read_records((Path(str(run.run_dir)) / "workload" / "requests.jsonl").read_text().splitlines()))
        assert records and all(record.error_kind is None for record in records)
