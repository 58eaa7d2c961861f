"""`python -m demo serve`: the real llama.cpp server behind llama-server's flags."""

from __future__ import annotations

import errno
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from demo import presets
from demo.model import TINY, ModelFiles, model_files
from demo.presets import demo_configs
from tests.demo_engine import ROOT, DemoServer, is_healthy, running_demo, wait_until
from tests.ports import free_ports

pytestmark = pytest.mark.engine


def run_demo(*argv: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "demo", *argv]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def ask(base_url: str, **fields: object) -> dict[str, object]:
    body = {"prompt": "Tell me", "max_tokens": 40, "temperature": 0, "ignore_eos": True} | fields
    answer = httpx.post(f"{base_url}/v1/completions", json=body, timeout=60)
    answer.raise_for_status()
    return answer.json()


def test_it_writes_words_and_drafts(demo_server: DemoServer) -> None:
    before = demo_server.counters()
    answer = ask(demo_server.base_url)
    assert re.fullmatch(r"([ ,.\n]|[a-z])+", answer["choices"][0]["text"])
    after = demo_server.counters()
    assert after["tokens_predicted_total"] - before["tokens_predicted_total"] == 40
    assert after["spec_decode_num_drafts_total"] > before["spec_decode_num_drafts_total"]
    assert "draft acceptance" in demo_server.log.read_text()


def test_each_slot_has_room_for_4096_tokens(demo_server: DemoServer) -> None:
    slots = httpx.get(f"{demo_server.base_url}/slots").json()
    assert [slot["n_ctx"] for slot in slots] == [4096] * 4


@pytest.mark.parametrize("signalled", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_cleanly_with_an_open_stream(
    signalled: signal.Signals, tiny_model: ModelFiles, tmp_path: Path
) -> None:
    port = free_ports(1)[0]
    with running_demo(["-m", str(tiny_model.target)], port, tmp_path / "log") as server:
        body = {"prompt": "x", "max_tokens": 4000, "stream": True, "ignore_eos": True}
        with httpx.stream("POST", f"{server.base_url}/v1/completions", json=body) as answer:
            next(answer.iter_lines())
            server.process.send_signal(signalled)
            assert server.process.wait(30) == 0
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED


def test_ngram_drafts_on_text_that_repeats(tiny_model: ModelFiles, tmp_path: Path) -> None:
    ngram = ["--spec-type", "ngram-simple", "--spec-ngram-size-n", "2", "--spec-ngram-size-m", "4"]
    with running_demo(["-m", str(tiny_model.target), *ngram], free_ports(1)[0], tmp_path / "log") as server:
        ask(server.base_url, max_tokens=600)
        assert server.counters()["spec_decode_num_drafts_total"] > 0


def test_a_missing_model_is_one_sentence() -> None:
    demo = run_demo("serve", "-m", "/nowhere/gemma.gguf")
    assert demo.returncode == 1
    assert demo.stderr == (
        "demo: no model file at /nowhere/gemma.gguf (-m); 'python -m demo model --dir DIR' makes one\n"
    )


def test_a_port_in_use_is_one_sentence(tiny_model: ModelFiles) -> None:
    with socket.socket() as taken_socket:
        taken_socket.bind(("127.0.0.1", 0))
        taken_socket.listen()
        port = taken_socket.getsockname()[1]
        demo = run_demo("serve", "-m", str(tiny_model.target), "--port", str(port))
    assert (demo.returncode, demo.stderr) == (1, f"demo: cannot listen on 127.0.0.1:{port}: Address already in use\n")


def test_bad_model_refused_with_llamacpp_reason(tmp_path: Path) -> None:
    (tmp_path / "bad.gguf").write_text("not a model")
    demo = run_demo("serve", "-m", str(tmp_path / "bad.gguf"), "--port", str(free_ports(1)[0]))
    assert demo.returncode == 1
    assert "invalid magic" in demo.stderr
    # llama.cpp's own log thread writes to the same stream: our sentence may come in the middle of one of its lines.
    assert "demo: llama.cpp could not start with" in demo.stderr
    assert "Traceback" not in demo.stderr


def test_missing_engine_names_the_needed_install(tiny_model: ModelFiles) -> None:
    code = "import sys; sys.modules['xllamacpp'] = None; from demo.__main__ import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "serve", "-m", str(tiny_model.target), "--port", str(free_ports(1)[0])]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert process.returncode == 1
    assert process.stderr == "demo: the demo engine is not installed: run 'pip install -r requirements-demo.txt'\n"


def test_three_configs_start_from_empty_folder(tmp_path: Path) -> None:
    configs = demo_configs(tmp_path, shape=TINY)
    assert [c.config.speculative and c.config.speculative.method for c in configs] == [
        None,
        "draft-simple",
        "ngram-simple",
    ]
    assert len({c.config.fingerprint for c in configs}) == 3
    draft = configs[1]
    log = tmp_path / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(draft.argv, cwd=ROOT, stdout=out, stderr=out)
    base_url = f"http://127.0.0.1:{draft.config.port}"
    try:
        wait_until(lambda: process.poll() is not None or is_healthy(base_url))
        assert log.read_text().startswith(f"making the demo model in {tmp_path / 'demo'}\n")
        assert all(path.exists() for path in model_files(tmp_path / "demo", TINY))
        assert ask(base_url)["usage"]["completion_tokens"] == 40
    finally:
        process.terminate()
        assert process.wait(30) == 0


def test_demo_port_is_free_and_not_ephemeral(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its servers start minutes after their ports were chosen."""
    assert not set(presets.PORTS) & set(range(32768, 61000)), "what Linux gives unless it is set otherwise"
    (port,) = free_ports(1)
    with socket.socket() as taken_socket:
        taken_socket.bind(("127.0.0.1", port))
        monkeypatch.setattr(presets, "PORTS", [port])
        assert presets.free_ports(1) == []
    assert presets.free_ports(1) == [port]
