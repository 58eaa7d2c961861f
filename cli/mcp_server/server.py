"""The MCP server: the tools of `store_tools` under the official SDK, by standard input or by HTTP with tokens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import ToolAnnotations
from pydantic import AnyHttpUrl

from cli.answers import audit_user
from cli.mcp_server.documents import list_documents, read_document
from cli.mcp_server.store_tools import StoreTools
from cli.mcp_server.untrusted import NOTE
from cli.results.compare import ComparisonWords
from domain import JsonValue
from errors import PitwallError
from service.proposals import LoadProposal
from settings import VERSION, Settings
from web.access.tokens import Scope, TokenBook

MOST_AT_ONCE = 2  # each answer takes a core
MOST_BODY_BYTES = 1 << 20
PATH = "/mcp"
NOT_PERMITTED = (
    "Proposals are closed here: they need a token with actions:propose, or `./pitwall mcp --propose` in a shell."
)
INSTRUCTIONS = (
    "Pitwall measures LLM inference servers. compare_runs decides whether one configuration is faster: if "
    "is_claim_allowed is false, say so with the refusals or the sentence, and do not compute a ratio from other tools. "
    "what_to_measure_next says what would settle it. Values have units; an unknown value has a reason and is never 0. "
    f"{NOTE}"
)
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
Answer = Callable[[Callable[[], dict[str, Any]]], Awaitable[dict[str, Any]]]
PROPOSES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)


class ScopeVerifier:
    """Accepts Pitwall's tokens as bearer tokens, with their scopes."""

    def __init__(self, tokens: TokenBook) -> None:
        self._tokens = tokens

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the access that a token gives; None for an unknown, expired or revoked one."""
        stored = await anyio.to_thread.run_sync(self._tokens.find, token)
        if stored is None or self._tokens.why_expired(stored):
            return None
        scopes = [scope.value for scope in stored.scopes]
        return AccessToken(
            token=token, client_id=stored.id, scopes=scopes, expires_at=int(stored.expires_at.timestamp())
        )


def stdio_server(settings: Settings, may_propose: bool) -> MCPServer[Any]:
    """Return a server for standard input and output; its caller has access to the data folder already."""
    server = MCPServer[Any]("pitwall", instructions=INSTRUCTIONS, version=VERSION, log_level="WARNING")
    _add_tools(server, StoreTools(settings), lambda: audit_user() if may_propose else None)
    return server


def http_server(settings: Settings) -> MCPServer[Any]:
    """Return a server for HTTP: every request needs a token of sql:read, a proposal one of actions:propose as well."""
    server = MCPServer[Any](
        "pitwall",
        instructions=INSTRUCTIONS,
        version=VERSION,
        log_level="WARNING",
        token_verifier=ScopeVerifier(TokenBook(settings.tokens_path)),
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(settings.url), resource_server_url=None, required_scopes=[Scope.SQL.value]
        ),
    )
    _add_tools(server, StoreTools(settings), _proposing_token)
    return server


def serve_http(settings: Settings, host: str, port: int) -> None:
    """Serve until the process is ended."""
    names = {f"{name}:{port}" for name in (host if ":" not in host else f"[{host}]", "localhost")}
    if settings.public_url and settings.public_url.host:
        names |= {settings.public_url.host, f"{settings.public_url.host}:{settings.public_url.port}"}
    http_server(settings).run(
        "streamable-http",
        host=host,
        port=port,
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=MOST_BODY_BYTES,
        transport_security=TransportSecuritySettings(allowed_hosts=sorted(names)),
    )


def _proposing_token() -> str | None:
    """Return who proposes, for the audit; None if the request's token may not propose."""
    access = get_access_token()
    return f"token {access.client_id}" if access and Scope.PROPOSE.value in access.scopes else None


def _add_tools(server: MCPServer[Any], tools: StoreTools, proposer: Callable[[], str | None]) -> None:
    """Add all tools; proposer: returns who proposes, or None if the caller may not."""
    turns = anyio.CapacityLimiter(MOST_AT_ONCE)

    async def answer(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        try:
            return await anyio.to_thread.run_sync(work, limiter=turns)
        except PitwallError as refusal:
            raise ToolError(str(refusal)) from refusal

    _add_run_tools(server, tools, answer)
    _add_comparison_tools(server, tools, answer)
    _add_document_tool(server, answer)
    _add_proposal_tools(server, tools, answer, proposer)


def _add_run_tools(server: MCPServer[Any], tools: StoreTools, answer: Answer) -> None:
    @server.tool(annotations=READS)
    async def find_runs(
        words: str = "", engine: str | None = None, state: str | None = None, limit: int = 20
    ) -> dict[str, Any]:
        """List runs, newest first: those whose name or id has all words. Use the run_id in the other tools."""
        return await answer(partial(tools.find_runs, words, engine, state, limit))

    @server.tool(annotations=READS)
    async def describe_run(run_id: str) -> dict[str, Any]:
        """Return a run's configuration and metrics with units. Do not compare runs by these: use compare_runs."""
        return await answer(partial(tools.describe_run, run_id))

    @server.tool(annotations=READS)
    async def explain_command(command: str) -> dict[str, Any]:
        """Read a launch command of an inference server: configuration, what was left out, warnings. Runs nothing."""
        return await answer(partial(tools.explain_command, command))

    @server.tool(annotations=READS)
    async def query_sql(sql: str) -> dict[str, Any]:
        """Run one read-only SELECT (DuckDB) over the views; read_documents schema.md lists them. 200 rows at most."""
        return await answer(partial(tools.query_sql, sql))


def _add_comparison_tools(server: MCPServer[Any], tools: StoreTools, answer: Answer) -> None:
    @server.tool(annotations=READS)
    async def compare_runs(
        run_ids: list[str],
        objective: str | None = None,
        declare: list[str] | None = None,
        margin: str | None = None,
        claim: str | None = None,
        workload: str | None = None,
    ) -> dict[str, Any]:
        """Decide which configuration is better. Repeats of one form an arm; the arm of the first run is the baseline.

        objective: decode_tps, output_tps@8, ttft_ms@1, ...; declare: model, sampling, hardware or gpu_limits if that
        difference is meant; margin: smallest relevant difference, such as 2%; claim: a ratio to check, such as 2x.
        refusals say why arms may not be ranked. Report a difference only if is_claim_allowed is true.
        """
        words = ComparisonWords(run_ids, objective, declare or (), margin, claim, workload)
        return await answer(partial(tools.compare_runs, words))

    @server.tool(annotations=READS)
    async def what_to_measure_next(run_ids: list[str], objective: str | None = None) -> dict[str, Any]:
        """Say what would settle a comparison of these runs: the differences to remove, or how many more starts."""
        return await answer(partial(tools.what_to_measure_next, ComparisonWords(run_ids, objective)))


def _add_document_tool(server: MCPServer[Any], answer: Answer) -> None:
    @server.tool(annotations=READS)
    async def read_documents(name: str | None = None, offset: int = 0) -> dict[str, Any]:
        """List Pitwall's documents, or read one by its name, in parts: continue at next_offset."""
        work = partial(read_document, name, offset) if name else (lambda: {"documents": list_documents()})
        return await answer(work)


def _add_proposal_tools(
    server: MCPServer[Any], tools: StoreTools, answer: Answer, proposer: Callable[[], str | None]
) -> None:
    def permitted() -> str:
        user = proposer()
        if user is None:
            raise ToolError(NOT_PERMITTED)
        return user

    @server.tool(annotations=PROPOSES)
    async def propose_load(
        run_id: str, workload: str, why: str, params: dict[str, JsonValue] | None = None
    ) -> dict[str, Any]:
        """Propose a load for the server of a live run, and say why. Nothing starts until the operator accepts it."""
        load = LoadProposal(run_id=run_id, workload=workload, params=params or {})
        return await answer(partial(tools.propose_load, load, why, permitted()))

    @server.tool(annotations=PROPOSES)
    async def propose_study(toml: str, why: str) -> dict[str, Any]:
        """Propose a study by the text of its file (docs: studies.md). Nothing starts until the operator accepts it."""
        return await answer(partial(tools.propose_study, toml, why, permitted()))
