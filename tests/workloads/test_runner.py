"""`./pitwall load`: every planned request is a row, whatever the server does."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from demo.model import ModelFiles
from load_records import RequestRecord
from tests.demo_engine import ROOT, DemoServer, running_demo, wait_until
from tests.ports import free_ports
from workloads import REGISTRY
from workloads.process.prepare import COMMAND_LINE
from workloads.requests.records import read_records

PATIENCE_S = 240  # thousands of tokens, on a machine that has much else to do
SMALL = {"requests": 4, "tokens": 50, "warmup_tokens": 5}


class Job:
    """One SPEC.json in a folder of its own, and the process that works on it."""

    def __init__(self, folder: Path, base_url: str, **fields: object) -> None:
        self.out, self.progress_path, self.spec = (
            folder / "requests.jsonl",
            folder / "progress.json",
            folder / "spec.json",
        )
        actual_fields = {
            "run_id": "run-1",
            "base_url": base_url,
            "engine": "llamacpp",
            "workload": "demo-stream",
            "params": SMALL,
        }
        files = {"out": str(self.out), "progress": str(self.progress_path)}
        self.spec.write_text(json.dumps(actual_fields | files | fields))

    def start(self) -> subprocess.Popen[str]:
        command = [sys.executable, str(COMMAND_LINE), "load", str(self.spec)]
        return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)

    def run(self) -> tuple[int, str]:
        process = self.start()
        _, errors = process.communicate(timeout=PATIENCE_S)
        return process.returncode, errors

    @property
    def rows(self) -> list[RequestRecord]:
        return list(read_records(self.out.read_text().splitlines())) if self.out.exists() else []

    @property
    def progress(self) -> dict[str, object]:
        return json.loads(self.progress_path.read_text())


@pytest.fixture
def broken_server() -> Iterator[str]:
    """A fake that names a model and answers every request with 500."""

    class Broken(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(200, b'{"data": [{"id": "broken"}]}')

        def do_POST(self) -> None:
            self.answer(500, f"no memory for {self.headers.get('Authorization', 'anyone')}".encode())

        def answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Keep the test's output quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Broken)
    threading.Thread(target=server.serve_forever).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.engine
def test_a_real_run_counts_what_the_server_counts(demo_server: DemoServer, tmp_path: Path) -> None:
    before = demo_server.counters()
    job = Job(tmp_path, demo_server.base_url)
    assert job.run() == (0, "")
    grown = {name: value - before[name] for name, value in demo_server.counters().items()}
    rows = job.rows
    assert [row.phase for row in rows] == ["warmup"] + ["measure"] * 4
    assert [row.prompt_class for row in rows[1:]] == ["predictable", "creative", "creative", "predictable"]
    assert sum(row.completion_tokens for row in rows) == 205 == grown["tokens_predicted_total"]
    assert sum(row.draft_tokens or 0 for row in rows) == grown["spec_decode_num_draft_tokens_total"]
    assert sum(row.accepted_tokens or 0 for row in rows) == grown["spec_decode_num_accepted_tokens_total"]
    assert len({row.request_id for row in rows}) == 5
    assert {row.extra["collapse"]["words"] > 0 for row in rows[1:]} == {True}
    assert job.progress | {"updated_at": ""} == {
        "run_id": "run-1", "workload": "demo-stream", "state": "done", "phase": None, "done": 5, "total": 5,
        "errors": 0, "output_tokens": 205, "looping": 0, "looping_since_word": None,
        "remaining_s": 0.0, "updated_at": "",
    }  # fmt: skip


@pytest.mark.engine
def test_four_concurrent_have_both_aggregates(demo_server: DemoServer, tmp_path: Path) -> None:
    job = Job(tmp_path, demo_server.base_url, workload="five-prompts", params={"rounds": 1, "token_scale": 0.03})
    assert job.run() == (0, "")
    together = [row for row in job.rows if row.concurrency == 4]
    assert sorted(row.stream for row in together) == [0, 1, 2, 3]
    starts, ends = (
        [row.sent_at for row in together],
        [row.sent_at.timestamp() + row.total_ms / 1000 for row in together],
    )
    assert max(start.timestamp() for start in starts) < min(ends)
    command = [sys.executable, str(COMMAND_LINE), "load", "report", str(job.out)]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "[LongCode   ]    61 tokens in" in printed
    assert "Together: 124 tokens of 4 requests in" in printed
    assert "tokens over wall time" in printed and "sum of request rates" in printed


@pytest.mark.engine
def test_sigterm_records_in_flight_as_cancelled(demo_server: DemoServer, tmp_path: Path) -> None:
    job = Job(tmp_path, demo_server.base_url, params=SMALL | {"tokens": 3500})
    process = job.start()
    wait_until(lambda: len(job.rows) == 1 and demo_server.counters()["requests_processing"] == 1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 0
    assert [row.error_kind for row in job.rows] == [None, "cancelled"]
    assert (job.progress["state"], job.progress["done"], job.progress["total"]) == ("cancelled", 2, 5)


@pytest.mark.wide
@pytest.mark.engine
def test_a_pause_sends_nothing_until_it_goes_on(demo_server: DemoServer, tmp_path: Path) -> None:
    job = Job(tmp_path, demo_server.base_url, params=SMALL | {"tokens": 2000})
    process = job.start()
    wait_until(lambda: bool(job.rows) and demo_server.counters()["requests_processing"] == 1)
    process.send_signal(signal.SIGUSR1)
    wait_until(lambda: job.progress["state"] == "paused" and demo_server.counters()["requests_processing"] == 0)
    sent_before = demo_server.counters()["prompt_tokens_total"]
    wait_until(lambda: job.progress["done"] == len(job.rows) > 1)  # the one in flight has ended as ever
    assert demo_server.counters()["prompt_tokens_total"] == sent_before and len(job.rows) < 5
    process.send_signal(signal.SIGUSR2)
    assert process.wait(PATIENCE_S) == 0
    assert [row.completion_tokens for row in job.rows] == [5, 2000, 2000, 2000, 2000]


@pytest.mark.engine
def test_killed_server_leaves_a_row_per_request(tiny_model: ModelFiles, tmp_path: Path) -> None:
    with running_demo(["-m", str(tiny_model.target)], free_ports(1)[0], tmp_path / "log") as server:
        job = Job(tmp_path, server.base_url, params=SMALL | {"tokens": 3500})
        process = job.start()
        wait_until(lambda: len(job.rows) == 1 and server.counters()["requests_processing"] == 1)
        server.process.kill()
        assert process.wait(PATIENCE_S) == 0
    assert [row.error_kind for row in job.rows] == [None, "closed", "refused", "refused", "refused"]


def test_errors_are_rows_and_no_failure(broken_server: str, tmp_path: Path) -> None:
    job = Job(tmp_path, broken_server)
    assert job.run() == (0, "")
    assert [(row.error_kind, row.http_status) for row in job.rows] == [("http", 500)] * 5
    assert job.progress["errors"] == 5


def test_server_key_from_environment_is_in_no_row(
    broken_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVER_API_KEY", "k-123")
    job = Job(tmp_path, broken_server)
    job.run()
    assert job.rows[0].error_text == "HTTP 500: no memory for Bearer <secret>"


def test_absent_server_is_exit_code_3(tmp_path: Path) -> None:
    job = Job(tmp_path, f"http://127.0.0.1:{free_ports(1)[0]}")
    assert job.run() == (3, "")
    assert [row.error_kind for row in job.rows] == ["refused"] * 5


def test_rows_are_exactly_the_record_fields(broken_server: str, tmp_path: Path) -> None:
    job = Job(tmp_path, broken_server)
    job.run()
    lines = [json.loads(line) for line in job.out.read_text().splitlines()]
    sent_lines = [line for line in lines if "record" not in line]
    assert set(sent_lines[0]) == set(RequestRecord.__dataclass_fields__)
    assert sent_lines[0]["sent_at"].endswith("+00:00")
    kinds = [line["record"] for line in lines if "record" in line]
    assert kinds == ["load", "load_phase", "load_phase", *["result"] * 4], (
        "two kinds of prompt, their requests and failures"
    )


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"workload": "nonsense"}, f"There is no workload 'nonsense'; choose one of {', '.join(REGISTRY)}."),
        ({"params": {"tokens": 0}}, "tokens: Input should be greater than or equal to 1"),
        ({"params": {"token": 5}}, "token: Extra inputs are not permitted"),
        ({"base_url": "localhost:8000"}, "base_url: String should match pattern '^https?://'"),
        ({"out": "/proc/nowhere/requests.jsonl"}, "No such file or directory"),
    ],
)
def test_a_wrong_spec_is_one_sentence(fields: dict[str, object], sentence: str, tmp_path: Path) -> None:
    code, errors = Job(tmp_path, **{"base_url": f"http://127.0.0.1:{free_ports(1)[0]}"} | fields).run()
    assert code == (2 if "out" in fields else 1), "2 where a file is at fault, as with every command"
    assert sentence in errors
    assert errors.count("\n") == 1
