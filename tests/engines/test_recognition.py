"""Who wrote a log: an engine, a router, or neither; parse and import follow one rule."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from collectors.imports import log_recognition
from collectors.imports.log_recognition import recognise_log
from engines import ENGINES
from engines.parse import parse_file
from engines.recognition import PART_BYTES

GATEWAY = """\
2026-02-26 13:55:38  INFO smg::server: src/server.rs:794: Starting router on 0.0.0.0:8000 | mode: PrefillDecode
2026-02-26 13:55:38  INFO smg::workflow: /home/runner/work/sglang/sglang/src/event.rs:197: Workflow started
2026-02-26 13:55:39  WARN smg::core::worker: update.rs:62: Model /models/a/ has conflicting load_balance_method
2026-02-26 13:55:40  WARN smg::core::worker: update.rs:62: Model /models/a/ has conflicting load_balance_method
2026-02-26 13:56:09 ERROR http_request{method=POST uri=/v1/x}: smg::routers::pd: pd.rs:172: Failed to select PD pair
"""
ENGINE_LINES = {
    "vllm": '(APIServer pid=1) INFO:     192.168.10.54:55322 - "GET /version HTTP/1.1" 200 OK\n',
    "vllm core": "(EngineCore pid=812) INFO 08-14 10:02:11 [core.py:1] Hello\n",
    "sglang": "[2026-08-14 10:02:11 TP0] sglang.srt.utils is here\n",
    "llamacpp": "srv  log_server_r: request: GET /health 127.0.0.1 200\n",
    "trtllm": "[08/14/2026-10:02:11] [TRT-LLM] [I] Starting the executor\n",
}


def parsed(log: Path) -> dict[str, Any]:
    out = io.StringIO()
    parse_file(log, ENGINES, out)
    reading: dict[str, Any] = json.loads(out.getvalue())
    return reading


@pytest.fixture(name="log")
def log_fixture(tmp_path: Path) -> Path:
    return tmp_path / "server.log"


def recognised(log: Path) -> tuple[str | None, str | None]:
    """Engine and router, by parse and by both ways of an import."""
    reading = parsed(log)
    engine, router, _ = recognise_log(log, lambda share: None)
    assert (reading["engine"], reading["router"]) == (engine and engine.name, router and router.title)
    return reading["engine"], reading["router"]


@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize(
    ("text", "writer"),
    [
        (GATEWAY, (None, "SGLang Model Gateway")),
        (GATEWAY + ENGINE_LINES["sglang"], ("sglang", None)),
        ("A shopping list: SGLang, vllm/engine/, TensorRT-LLM], llama-server, milk.\n", (None, None)),
        *((line, (engine.split()[0], None)) for engine, line in ENGINE_LINES.items()),
    ],
)
def test_parse_and_import_agree(
    text: str, writer: tuple[str | None, str | None], is_large: bool, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_large:  # another process reads it
        monkeypatch.setattr(log_recognition, "SMALL_BYTES", 0)
    log.write_text(text)
    assert recognised(log) == writer


def test_errors_of_a_router_are_causes_and_its_warnings_warnings(log: Path) -> None:
    log.write_text(GATEWAY)
    reading = parsed(log)
    assert reading["errors"] == ["Failed to select PD pair"]
    text = "Model /models/a/ has conflicting load_balance_method"
    assert reading["warnings"] == [{"line": 3, "text": text, "count": 2}]
    assert (reading["engine"], reading["samples"], reading["startup"]) == (None, [], {})


ROUTERS = {
    "0: 2025-08-21T08:17:04.681034Z ERROR dynamo_llm::http::service::service_v2: no worker": "NVIDIA Dynamo frontend",
    "2025-07-08 19:58:04  ERROR sglang_router_rs::router: src/router.rs:354: no worker": "SGLang Model Gateway",
    "\x1b[2m2026-09-20 08:28:07\x1b[0m \x1b[31mERROR\x1b[0m vllm_router_rs::server: src/server.rs:847: no worker": (
        "vLLM Router"
    ),
    "[2026-03-01 10:00:00,123] ERROR: No worker (request.py:222:vllm_router.services.request)": "vLLM Router",
}


@pytest.mark.parametrize("line", ROUTERS)
def test_every_router_is_named(line: str, log: Path) -> None:
    log.write_text(f"{line}\n")
    assert recognised(log) == (None, ROUTERS[line])
    assert [error.lower() for error in parsed(log)["errors"]] == ["no worker"]


def test_router_record_across_two_parts_is_no_engines(log: Path) -> None:
    line = GATEWAY.splitlines()[1]
    log.write_text("x" * (PART_BYTES - 60) + f"\n{line}\n")
    assert recognised(log) == (None, "SGLang Model Gateway")


def test_a_named_engine_does_not_hide_the_one_that_wrote(log: Path) -> None:
    log.write_text(f"image vllm/engine/tools\n{ENGINE_LINES['trtllm']}")
    assert recognised(log) == ("trtllm", None)
