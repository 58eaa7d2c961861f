"""Rows of llama-bench without their heads: with bars and without, below a rule alone, and in a later fence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.captured import results_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text

BARRED = (
    "| small 8B Q4_K - Medium | 4.68 GiB | 8.19 B | CUDA | 99 | pp512 | 5123.45 ± 12.3 |\n"
    "| small 8B Q4_K - Medium | 4.68 GiB | 8.19 B | CUDA | 99 | tg128 @ d4096 | 123.45 ± 0.3 |\n"
)
BLANKS = BARRED.replace("| ", "").replace(" |", "")
HEAD = "| model | size | params | backend | ngl | test | t/s |\n"
RULE = "| ----- | ---: | -----: | ------- | --: | ---: | --: |\n"
READINGS = [("pp512", "prompt_tps", 5123.45, 12.3, None), ("tg128 @ d4096", "decode_tps", 123.45, 0.3, 4096)]


@pytest.mark.parametrize(
    "text",
    [
        BARRED,
        f"My numbers:\n\n{BARRED}\nIs that slow?\n",
        f"I see this:\n```\n{BARRED.replace('| small', 'small')}```\n",
        BARRED.replace(" ", "   ").replace("small   8B   Q4_K   -   Medium", "small 8B Q4_K - Medium")
        .replace("4.68   GiB", "4.68 GiB").replace("8.19   B", "8.19 B"),
        BLANKS,
        f"My numbers:\n\n{BLANKS}\nIs that slow?\n",
        BLANKS.replace(" CUDA 99 ", "\tCUDA\t99\t"),
        f"model size params backend ngl test t/s\n{BLANKS}",
        f"\n{RULE}{BARRED}",
        f"{HEAD}{BARRED[: BARRED.index(chr(10)) + 1]}\n{BARRED[BARRED.index(chr(10)) + 1 :]}",
    ],
)  # fmt: skip
def test_rows_without_heads(tmp_path: Path, text: str) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert (load.tool, load.model) == ("llama-bench", "small 8B Q4_K - Medium")
    rows = [(row.point, row.metric, row.value, row.sd, row.depth_tokens or None) for row in results_of(load)]
    assert rows == READINGS
    assert (load.params["backends"], load.params["n_gpu_layers"]) == ("CUDA", 99)
    assert load.server_config == {"quantization": "Q4_K - Medium"}


def test_heads_of_an_earlier_fence(tmp_path: Path) -> None:
    head = HEAD.replace("| ngl", "| ngl | fa") + RULE.replace("| --:", "| --: | --:", 1)
    row = BARRED.partition("\n")[0].replace("| 99", "| 99 | 1") + "\n"
    text = f"Before:\n\n```\n{head}{row}```\n\nAfter:\n\n```\n{row.replace('5123', '6123')}```\n"
    before, after = loads_of_text(tmp_path, "post.md", text)
    assert [(load.params["table"], load.params["flash_attn"]) for load in (before, after)] == [
        ("Before", 1), ("After", 1),
    ]  # fmt: skip
    assert [row.value for load in (before, after) for row in results_of(load)] == [5123.45, 6123.45]
    (load,) = loads_of_text(tmp_path, "head.md", f"The columns:\n```\n{head}```\nand a row:\n```\n{row}```\n")
    assert (load.params["flash_attn"], [row.value for row in results_of(load)]) == (1, [5123.45])


def test_settings_whose_head_nobody_states_are_numbered(tmp_path: Path) -> None:
    row = "| small 20B MXFP4 MoE | 11.27 GiB | 20.91 B | CPU | 16 | 1 | tg128 | 23.5 ± 0.30 |\n"
    (load,) = loads_of_text(tmp_path, "post.md", row)
    assert (load.params["n_threads"], load.params["column-6"]) == (16, 1)
    assert [(r.metric, r.value) for r in results_of(load)] == [("decode_tps", 23.5)]


@pytest.mark.parametrize(
    "line", ["1.0 GiB 1.0 B " * 42, "x 1.0 GiB 1.0 B " + "pp1 " * 140, "| " * 290 + "iB", "x 1.0 GiB" + " " * 550]
)
def test_long_lines_are_no_rows(tmp_path: Path, line: str) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", f"{line}\n" * 2000 + BARRED)
    assert [row.value for row in results_of(load)] == [5123.45, 123.45]


def test_remarks_behind_rows_and_quoted_rows(tmp_path: Path) -> None:
    first, second = BARRED.splitlines()
    (load,) = loads_of_text(tmp_path, "post.md", f"{first} <- slow\n{second}\n")
    assert [row.value for row in results_of(load)] == [5123.45, 123.45]
    (load,) = loads_of_text(tmp_path, "bare.md", BLANKS.replace("12.3", "12.3   <-- slow"))
    assert [row.value for row in results_of(load)] == [5123.45, 123.45]
    text = f"> {HEAD}> {RULE}> {first}\n\nAnd with ROCm:\n\n> {first.replace('CUDA', 'ROCm').replace('5123', '6123')}\n"
    loads = loads_of_text(tmp_path, "quoted.md", text)
    assert [(load.params["backends"], row.value) for load in loads for row in results_of(load)] == [
        ("CUDA", 5123.45), ("ROCm", 6123.45),
    ]  # fmt: skip
