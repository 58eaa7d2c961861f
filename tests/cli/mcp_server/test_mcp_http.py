"""`./pitwall mcp --listen`: HTTP with Pitwall's tokens, by the SDK's client; and what the command refuses to start."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

import cli.mcp
from cli.main import main
from domain import utc_now
from service.proposals import ProposalBook
from settings import Settings
from storage.store import Store
from tests.ports import free_ports
from web.access.tokens import Scope, TokenBook

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 60.0
STUDY = """
question = "which"
[[arm]]
name = "a"
command = "vllm serve m --port 8000"
[[arm]]
name = "b"
command = "vllm serve m --port 8000 --max-num-seqs 8"
[[workload]]
name = "five-prompts"
"""


@pytest.fixture
def address(settings: Settings) -> Iterator[str]:
    """The address of a served, empty data folder."""
    store = Store.open(settings)
    store.publish()
    store.close()
    port = free_ports(1)[0]
    argv = [str(ROOT / "pitwall"), "mcp", "--listen", f"127.0.0.1:{port}"]
    server = subprocess.Popen(argv, env=os.environ | {"PITWALL_DATA": str(settings.data_dir)})
    url, end_s = f"http://127.0.0.1:{port}/mcp", time.monotonic() + PATIENCE_S
    while True:
        try:
            httpx.get(url)
            break
        except httpx.ConnectError:
            assert time.monotonic() < end_s and server.poll() is None
            time.sleep(0.1)
    yield url
    server.terminate()
    assert server.wait(PATIENCE_S) is not None


def token_of(settings: Settings, *scopes: Scope) -> str:
    return TokenBook(settings.tokens_path).make(scopes, None, timedelta(days=1), "", "test")[1]


def call(url: str, token: str, tool: str, **arguments: Any) -> CallToolResult:
    async def conversation() -> CallToolResult:
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"})
        async with http, Client(streamable_http_client(url, http_client=http)) as client:
            return await client.call_tool(tool, arguments)

    return anyio.run(conversation)


def status_of(url: str, token: str | None, host: str | None = None) -> int:
    headers = {"Accept": "application/json, text/event-stream"}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    headers |= {"Host": host} if host else {}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    return httpx.post(url, headers=headers, json=body).status_code


@pytest.mark.wide
@pytest.mark.publishes
def test_tokens_and_their_scopes(address: str, settings: Settings) -> None:
    book, reader = TokenBook(settings.tokens_path), token_of(settings, Scope.SQL)
    assert status_of(address, None) == status_of(address, "pwt_wrong") == 401
    assert status_of(address, token_of(settings, Scope.METRICS)) == 403
    assert status_of(address, reader, "elsewhere.example") == 421
    assert call(address, reader, "find_runs").structured_content["matches"] == 0  # type: ignore[index]
    assert call(address, reader, "propose_study", toml=STUDY, why="").is_error
    assert ProposalBook(settings.proposals_path).all() == []
    assert not call(address, token_of(settings, Scope.SQL, Scope.PROPOSE), "propose_study", toml=STUDY, why="").is_error
    (proposal,) = ProposalBook(settings.proposals_path).all()
    assert proposal.proposed_by == f"token {next(t.id for t in book.all() if Scope.PROPOSE in t.scopes)}"
    book.revoke(next(token.id for token in book.all() if token.scopes == (Scope.SQL,)), "test")
    assert status_of(address, reader) == 401
    assert utc_now() > proposal.proposed_at


@pytest.mark.parametrize(
    ("listen", "reason"),
    [("0.0.0.0:8502", "TLS proxy"), ("127.0.0.1", "a port"), ("localhost:0", "a port"), ("gpu.example:80", "a port")],
)
def test_other_addresses_are_refused(listen: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--listen", listen]) == 1
    assert reason in capsys.readouterr().err


def test_a_missing_sdk_is_a_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(cli.mcp, "find_spec", lambda name: None)
    assert main(["mcp"]) == 1
    assert capsys.readouterr().err == (
        "The MCP server needs its SDK: .venv/bin/python -m pip install -r requirements-mcp.txt\n"
    )
