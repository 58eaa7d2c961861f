"""Failed transfers of KV cache: one warning per request with its reason, for every engine that transfers."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from engines import ENGINES
from engines.parse import parse_file

SGLANG = (
    "[2026-08-14 10:02:{second} TP{rank}] {side} failed for request rank={rank} req.rid='a{room}' "
    "req.bootstrap_room={room} with exception KVTransferError(bootstrap_room={room}): {reason}\n"
)
DEAD = "Failed to get kvcache from prefill instance, it might be dead"
VLLM = "(EngineCore pid=8) {level} 08-14 10:02:11 [nixl_connector.py:99] {text}\n"
TRTLLM = "[TensorRT-LLM][ERROR] {text}\n"


def sglang(room: int, reason: str = DEAD, rank: int = 0, side: str = "Decode transfer") -> str:
    return SGLANG.format(second=11, rank=rank, room=room, reason=reason, side=side)


def parsed(tmp_path: Path, text: str) -> dict[str, Any]:
    log, out = tmp_path / "server.log", io.StringIO()
    log.write_text(text)
    parse_file(log, ENGINES, out)
    reading: dict[str, Any] = json.loads(out.getvalue())
    return reading


def test_a_log_of_failed_transfers_is_sglangs(tmp_path: Path) -> None:
    reading = parsed(tmp_path, sglang(71) + sglang(72))
    assert reading["engine"] == "sglang"
    assert reading["warnings"] == [{"line": 1, "text": f"KV transfer failed: {DEAD}", "count": 2}]
    assert reading["errors"] == []


def test_a_request_counts_once_over_its_ranks(tmp_path: Path) -> None:
    text = "".join(sglang(71, rank=rank) for rank in range(4)) + sglang(72)
    assert parsed(tmp_path, text)["warnings"] == [{"line": 1, "text": f"KV transfer failed: {DEAD}", "count": 2}]


@pytest.mark.parametrize("side", ["Prefill transfer", "Prefill bootstrap", "Decode handshake"])
def test_reasons_are_counted_without_their_requests(side: str, tmp_path: Path) -> None:
    texts = [sglang(n, f"Request {n} timed out after 30{n}.5s in KVPoll.Bootstrapping", side=side) for n in (1, 2)]
    text = "KV transfer failed: Request … timed out after … s in KVPoll.Bootstrapping"
    assert parsed(tmp_path, "".join(texts))["warnings"] == [{"line": 1, "text": text, "count": 2}]


def test_a_failed_transfer_without_a_reason(tmp_path: Path) -> None:
    text = sglang(71).partition(" with exception")[0] + "\n"
    (warning,) = parsed(tmp_path, text)["warnings"]
    assert warning["text"] == "KV transfer failed: the log states no reason."


OTHERS = {
    "vllm": (
        VLLM.format(level="ERROR", text="NIXL transfer failure: handshake_setup_failed | Context: {'host': 'a'}"),
        "handshake_setup_failed",
    ),
    "vllm handshake": (
        VLLM.format(level="ERROR", text="Handshake with 6f1c-a7 failed"),
        "Handshake with 6f1c-a7 failed",
    ),
    "vllm handshake for a request": (
        VLLM.format(level="ERROR", text="RuntimeError: Remote NIXL agent engine ID mismatch.")
        + VLLM.format(level="ERROR", text="Handshake failed for request a-4113"),
        "Handshake failed",
    ),
    "vllm Mooncake": (
        VLLM.format(level="ERROR", text="Mooncake transfer failed for request a-4113"),
        "Mooncake transfer failed",
    ),
    "vllm of a request": (
        VLLM.format(level="ERROR", text="Failed to transfer KV cache for request a-4113: Transfer failed, ret: -1"),
        "Transfer failed, ret: -1",
    ),
    "vllm load": (
        VLLM.format(level="ERROR", text="Failing 1 request(s) due to KV load failure (failure_policy=fail)"),
        "KV load failure",
    ),
    "vllm recovered": (
        VLLM.format(level="WARNING", text="Recovered from KV load failure: 1 request(s) rescheduled"),
        "KV load failure",
    ),
    "trtllm": (
        TRTLLM.format(text="Error occurred during generation transfer for request 4113: Broken promise"),
        "Broken promise",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_engines_report_the_reason_too(name: str, tmp_path: Path) -> None:
    line, reason = OTHERS[name]
    reading = parsed(tmp_path, line + line.replace("4113", "4114"))
    assert reading["engine"] == name.partition(" ")[0]
    warning = {"line": line.count("\n"), "text": f"KV transfer failed: {reason}", "count": 2}
    assert (reading["warnings"], reading["errors"]) == ([warning], [])


def test_memory_of_requests_is_bounded(read_log) -> None:
    log = read_log("sglang", "".join(sglang(room) for room in range(5000)))
    assert len(log.marks("warning")) == 5000


def test_a_warning_whose_repeats_have_no_mark_is_counted(tmp_path: Path) -> None:
    eager = "(EngineCore pid=8) WARNING 08-14 10:02:11 [config.py:9] Enforce eager set, disabling CUDA graphs.\n"
    (warning,) = parsed(tmp_path, eager * 3)["warnings"]
    assert (warning["line"], warning["count"]) == (1, 3)
