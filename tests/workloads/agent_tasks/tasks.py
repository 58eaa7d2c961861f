"""Tasks for the scripted agent, and a stand-in server that answers /v1/messages and /v1/responses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from load_records import AGENT_TASK, Load, RequestRecord, SuiteCheck
from tests.demo_engine import ROOT
from workloads.job import LoadJob
from workloads.process.prepare import COMMAND_LINE
from workloads.requests.records import parse_line

AGENT = str(Path(__file__).with_name("scripted_agent.py"))
CHECK = ["/bin/sh", "-c", 'test "$(cat answer.txt)" = 42']
PROMPT = "zebrafish protocol seventeen"  # planted: it must be in no record
SERVER_KEY = "sk-server-0123456789abcdef"


class _Answers(BaseHTTPRequestHandler):
    """FAKE: a server that counts tokens by a fixed rule."""

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        self.rfile.read(size)
        usage = {"input_tokens": 60, "cache_read_input_tokens": 40, "output_tokens": 8}
        body: dict[str, Any] = {"content": [{"type": "text", "text": "yes"}], "stop_reason": "end_turn", "usage": usage}
        if self.path.endswith("responses"):
            details = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 40}, "output_tokens": 8}
            output = [{"type": "message", "content": [{"type": "output_text", "text": "yes"}]}]
            body = {"status": "completed", "output": output, "usage": details}
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def stand_in_server() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def task_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "parser-fix"
    folder.mkdir()
    (folder / "PROMPT.md").write_text(PROMPT)
    return folder


def task_params(folder: Path, act: str = "solve", protocol: str = "messages", **changes: Any) -> dict[str, Any]:
    agent = [sys.executable, AGENT, act, protocol, "{model}"]
    return {"agent": agent, "check": CHECK, "folder": str(folder), "repeats": 1, "time_limit_s": 60.0} | changes


def job_of(tmp_path: Path, base_url: str, params: dict[str, Any]) -> LoadJob:
    load_folder = tmp_path / "runs" / "r" / "workload"
    load_folder.mkdir(parents=True, exist_ok=True)
    return LoadJob(
        run_id="r", base_url=base_url, model="m", workload=AGENT_TASK, params=params,
        out=load_folder / "requests.jsonl", progress=load_folder / "progress.json",
    )  # fmt: skip


def start_task(job: LoadJob, environ: dict[str, str] | None = None) -> subprocess.Popen[str]:
    spec = job.progress.with_name("job.json")
    spec.write_text(job.model_dump_json())
    env = os.environ | {"SERVER_API_KEY": SERVER_KEY} | (environ or {})
    return subprocess.Popen(
        [sys.executable, str(COMMAND_LINE), "load", str(spec)], cwd=ROOT, env=env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


class TaskRecords:
    """The lines of a load."""

    def __init__(self, job: LoadJob) -> None:
        self.lines = [parse_line(line) for line in job.out.read_text().splitlines()]
        self.loads = [line for line in self.lines if isinstance(line, Load)]
        self.checks = [line for line in self.lines if isinstance(line, SuiteCheck)]
        self.requests = [line for line in self.lines if isinstance(line, RequestRecord)]
