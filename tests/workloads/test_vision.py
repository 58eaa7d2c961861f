"""The vision check: what is drawn, how it is recalled, and what a server without eyes says."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from load_records import RequestRecord, SuiteCheck
from tests.demo_engine import DemoServer
from tests.workloads.servers import DONE, HEAD, Script, read_request, sends, serving, text_event
from workloads.job import LoadJob
from workloads.process.start import run_job
from workloads.requests.records import parse_line
from workloads.suites.scene import GLASS, GROUNDS, LEAVES, SIDE, SKIES, SUN, draw_scene
from workloads.suites.vision import ELEMENT_PATTERNS, QUESTION, missing_elements

ALL = "A cottage with a door and windows, an oak, sunshine in a light-blue sky, and grass."


async def run(base_url: str, folder: Path, **params: Any) -> list[Any]:
    files = {"out": folder / "requests.jsonl", "progress": folder / "progress.json"}
    job = LoadJob(
        run_id="r", base_url=base_url, model="m", engine="llamacpp", workload="vision", params=params, **files
    )
    await run_job(job, None)
    return [parse_line(line) for line in job.out.read_text().splitlines()]


def run_on_fake(script: Script, folder: Path, **params: Any) -> list[Any]:
    async def serve() -> list[Any]:
        async with serving(script) as base_url:
            return await run(base_url, folder, **params)

    return asyncio.run(serve())


def checks(lines: list[Any]) -> list[SuiteCheck]:
    return [line for line in lines if isinstance(line, SuiteCheck)]


@pytest.mark.parametrize("seed", [f"{number} scene" for number in range(12)])
def test_every_element_is_in_the_picture(seed: str) -> None:
    image = Image.open(io.BytesIO(draw_scene(seed)))
    assert (image.size, image.mode) == ((SIDE, SIDE), "RGB")
    counted = {color: count for count, color in image.getcolors(100) or []}
    assert counted[SUN] > 2000 and counted[LEAVES] > 4000 and counted[GLASS] == 2 * 34 * 34
    assert len(counted.keys() & set(SKIES)) == len(counted.keys() & set(GROUNDS)) == 1
    assert len(counted) == 9


def test_pictures_differ_by_their_seed_alone() -> None:
    assert draw_scene("a") == draw_scene("a")
    assert len({draw_scene(str(number)) for number in range(8)}) == 8


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        (ALL, []),
        (ALL.upper(), []),
        ("", list(ELEMENT_PATTERNS)),
        ("A skyscraper, outdoors, a greenhouse, a sundial, a street.", list(ELEMENT_PATTERNS)),
        ("house, door, window, tree, sun, sky", ["ground"]),
    ],
)
def test_elements_are_told_by_whole_words(text: str, missing: list[str]) -> None:
    assert missing_elements(text) == missing


@pytest.mark.parametrize(
    ("text", "is_pass", "why"),
    [
        (ALL, True, "7 of 7 elements named"),
        ("house, door, window, tree, sun, sky", True, "6 of 7 elements named, missing: ground"),
        ("house, door, window, tree, sun", False, "5 of 7 elements named, missing: sky, ground"),
    ],
)
def test_six_of_seven_pass_with_timed_first_token(text: str, is_pass: bool, why: str, tmp_path: Path) -> None:
    lines = run_on_fake(sends(HEAD, text_event(text[:9]), text_event(text[9:], "stop"), DONE), tmp_path, scenes=1)
    assert [(check.suite, check.case_name, check.is_pass, check.why) for check in checks(lines)] == [
        ("vision", "Scene 1", is_pass, why)
    ]
    assert all(line.ttft_ms is not None for line in lines if isinstance(line, RequestRecord))


def test_picture_is_sent_for_the_api_and_kept_cut(tmp_path: Path) -> None:
    bodies: list[dict[str, Any]] = []

    async def script(reader: Any, writer: Any) -> None:
        bodies.append(await read_request(reader))
        writer.write(HEAD + text_event(ALL, "stop") + DONE)
        await writer.drain()

    lines = run_on_fake(script, tmp_path, scenes=2, prefix_cache="cold")
    preface, image, text = bodies[0]["messages"][0]["content"]
    assert preface["type"] == "text" and preface["text"].startswith("(")
    assert image["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
    assert text == {"type": "text", "text": QUESTION}
    assert bodies[1]["messages"] != bodies[0]["messages"]
    url = checks(lines)[0].exchange["steps"][0]["asked"]["messages"][0]["content"][1]["image_url"]["url"]
    assert len(url) == 2001


@pytest.mark.engine
def test_server_without_images_was_not_tried(demo_server: DemoServer, tmp_path: Path) -> None:
    (check,) = checks(asyncio.run(run(demo_server.base_url, tmp_path, scenes=1)))
    assert check.is_pass is None
    assert "image input is not supported" in (check.why or "")
