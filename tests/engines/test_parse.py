"""`./pitwall parse`: one JSON object, one sentence on a mistake, and memory that does not grow."""

from __future__ import annotations

import io
import json
import tracemalloc
from pathlib import Path

import pytest

from cli.main import main
from engines import BY_NAME
from engines.parse import parse_file

FIXTURES = Path(__file__).parent.parent / "fixtures"
CAPTURES = {"vllm": "vllm/0.32-ngram.log", "sglang": "sglang/0.5.23-cpu.log", "llamacpp": "llamacpp/draft.log"}
BLOCK = (
    b"(APIServer pid=1) INFO 05-20 01:43:25 [loggers.py:259] Engine 000: Avg prompt throughput: 40.7 tokens/s, "
    b"Avg generation throughput: 104.5 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.0%%\n"
    b'(APIServer pid=1) INFO:     1.2.3.4:5 - "POST /v1/completions HTTP/1.1" 200 OK\n'
    b"(EngineCore_DP%d pid=2) ERROR 05-20 01:43:25 [core.py:7] ValueError: odd number %d\n"
    b"(EngineCore_DP%d pid=2) INFO 05-20 01:43:25 [core.py:7] GPU KV cache size: %d tokens\n"
)


class Counting(io.TextIOBase):
    """Takes text and keeps only how much there was."""

    size = 0

    def write(self, text: str) -> int:
        self.size += len(text)
        return len(text)


@pytest.mark.parametrize("engine", CAPTURES)
def test_the_engine_is_recognised(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", str(FIXTURES / CAPTURES[engine])]) == 0
    recognised = json.loads(capsys.readouterr().out)
    assert main(["parse", "--engine", engine, str(FIXTURES / CAPTURES[engine])]) == 0
    assert json.loads(capsys.readouterr().out) == recognised
    assert recognised["engine"] == engine
    assert recognised["samples"] and {"version", "startup", "errors", "warnings"} <= set(recognised)


def test_a_log_in_utf_16_is_read_as_one_in_utf_8(tmp_path: Path) -> None:
    readings = []
    for encoding in ("utf-8", "utf-16"):
        log = tmp_path / f"{encoding}.log"
        log.write_text((FIXTURES / CAPTURES["vllm"]).read_text(), encoding)
        out = io.StringIO()
        parse_file(log, tuple(BY_NAME.values()), out)
        readings.append(json.loads(out.getvalue()))
    assert readings[0] == readings[1]
    assert readings[0]["samples"]


@pytest.mark.wide
def test_engine_named_late_is_recognised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"pulling the image\n" * 200_000 + BLOCK % (0, 1, 0, 5))
    assert main(["parse", str(log)]) == 0
    parsed = json.loads(capsys.readouterr().out)
    assert (parsed["engine"], parsed["samples"][0]["line"]) == ("vllm", 200_001)


def test_a_log_of_no_known_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other.log").write_bytes(b"hello\n")
    assert main(["parse", str(tmp_path / "other.log")]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "samples": [],
        "engine": None,
        "router": None,
        "reason": "The file contains no line that only a known engine writes (vLLM, SGLang, llama.cpp, TensorRT-LLM).",
        "version": None,
        "startup": {},
        "errors": [],
        "warnings": [],
    }


def test_a_missing_file_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", str(tmp_path / "gone.log")]) == 2
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", f"{tmp_path / 'gone.log'}: No such file or directory.\n")


def test_a_folder_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"{tmp_path} is a folder, not a regular file.\n"


def peak_bytes(log: Path) -> int:
    tracemalloc.start()
    try:
        parse_file(log, [BY_NAME["vllm"]], Counting())
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_does_not_grow_with_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four times the log, with new causes, processes and facts in every block: the same peak."""
    monkeypatch.setattr("engines.parse._CHUNK_BYTES", 1 << 19)  # the smaller log is several chunks
    peaks = []
    for blocks in (5_000, 20_000):
        log = tmp_path / f"{blocks}.log"
        with log.open("wb") as file:
            file.writelines(BLOCK % (n, n, n, n) for n in range(blocks))
        peaks.append(peak_bytes(log))
    assert peaks[1] < peaks[0] * 1.2
