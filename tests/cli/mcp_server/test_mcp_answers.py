"""`./pitwall mcp` through the SDK's own client: right answers, and the guard's refusals where a careless agent errs."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult

from domain import Speculation
from tests.known_truth.import_door import PlayedStore
from tests.known_truth.paced_server import PacedServer
from tests.known_truth.played_run import PlayedArm

ROOT = Path(__file__).resolve().parents[3]
SEED = 20261127
PLAIN = PacedServer(start_sd=0.002)
FASTER = replace(PLAIN, step_s=0.02 / 1.3)
SHORT: dict[str, Any] = {"tokens": 32, "repeats": 2, "rungs": [1, 4]}
ONCE: dict[str, Any] = {"tokens": 24, "repeats": 2, "rungs": [1, 4]}  # no earlier starts show its spread
LONGER: dict[str, Any] = {"tokens": 48, "repeats": 2, "rungs": [1, 4]}
SYNTHETIC = {"rejection_sample_method": "synthetic", "synthetic_acceptance_length": 3.5}
FORCED = Speculation(method="mtp", num_tokens=3, options=SYNTHETIC)

pytestmark = [pytest.mark.publishes, pytest.mark.wide]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Four pairs of arms: three starts each, one start each, other prompts, forced acceptance."""
    opened = PlayedStore(tmp_path_factory.mktemp("mcp"), SEED)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def runs(played: PlayedStore) -> dict[str, list[str]]:
    a, b = PlayedArm("a", PLAIN, params=SHORT), PlayedArm("b", FASTER, params=SHORT)
    other_prompts = PlayedArm("b", FASTER, params=LONGER)
    forced = PlayedArm("b", FASTER, params=SHORT, config={"speculative": FORCED})
    by_name = {
        "three": played.play([a, b], 3),
        "once": played.play([replace(a, params=ONCE), replace(b, params=ONCE)], 1),
        "prompts": played.play([a, other_prompts], 3),
        "forced": played.play([a, forced], 3),
    }
    played.store.publish()
    return by_name


def ask(settings_dir: Path, conversation: Callable[[Client], Coroutine[Any, Any, Any]], *options: str) -> Any:
    """Start `./pitwall mcp` as an agent's program does, and talk to it."""
    server = StdioServerParameters(
        command=str(ROOT / "pitwall"), args=["mcp", *options], env=os.environ | {"PITWALL_DATA": str(settings_dir)}
    )

    async def session() -> Any:
        async with Client(server, read_timeout_seconds=60) as client:
            return await conversation(client)

    return anyio.run(session)


def fields(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


def test_three_careless_claims_are_refused(played: PlayedStore, runs: dict[str, list[str]]) -> None:
    """Ten questions in one session; three of them have an obvious wrong answer."""

    async def conversation(client: Client) -> list[dict[str, Any]]:
        async def tool(tool_name: str, **arguments: Any) -> dict[str, Any]:
            return fields(await client.call_tool(tool_name, arguments))

        return [
            await tool("find_runs", words="b #"),
            await tool("describe_run", run_id=runs["three"][0]),
            await tool("explain_command", command="vllm serve m --max-num-seqs 4 --api-key abcdefgh12345"),
            await tool("compare_runs", run_ids=runs["three"]),
            await tool("compare_runs", run_ids=runs["once"]),
            await tool("compare_runs", run_ids=runs["prompts"]),
            await tool("compare_runs", run_ids=runs["forced"], objective="decode_tps"),
            await tool("what_to_measure_next", run_ids=runs["once"]),
            await tool("query_sql", sql="SELECT count(*) AS runs FROM runs"),
            await tool("read_documents", name="answers/comparability.md"),
        ]

    found, described, explained, three, once, prompts, forced, following, counted, document = ask(
        played.settings.data_dir, conversation
    )
    assert found["matches"] >= 4 and all("b #" in run["name"] for run in found["runs"])
    assert {"tok/s"} == {metric["unit"] for metric in described["metrics"] if metric["metric"] == "stream_tps"}
    assert described["page"] == f"http://127.0.0.1:8501/run?run={runs['three'][0]}"
    assert explained["command"]["max_num_seqs"] == 4 and "abcdefgh12345" not in str(explained)

    (answer,) = three["answers"]
    assert answer["is_claim_allowed"] and answer["answer"] == "better" and 1.25 < answer["ratio"] < 1.35
    assert three["page"].startswith("http://127.0.0.1:8501/compare?run=") and "note" in three

    (answer,) = once["answers"]
    assert (
        not answer["is_claim_allowed"] and answer["answer"] == "seen_once" and "too few to claim" in answer["sentence"]
    )
    assert "at least 3 times" in following["arms"][0]["next"][0]
    for refused, code in ((prompts, "prompts"), (forced, "forced_acceptance")):
        (answer,) = refused["answers"]
        assert not answer["is_claim_allowed"] and answer["answer"] == "not_comparable" and answer["ratio"] is None
        assert code in [row["code"] for row in answer["refusals"]]
        assert "is not ranked against" in answer["sentence"] and answer["next"][0].startswith("Measure again without")

    assert counted["rows"] == [{"runs": 20}]
    assert "guard" in document["text"] and document["source"] == "docs/answers/comparability.md"
