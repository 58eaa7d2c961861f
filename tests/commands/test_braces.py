"""Braces of a paste: written out as a real bash does, or refused with their place; its file patterns are kept."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable

import pytest

from commands.expansion import EnvironmentExpansion, is_shell_text
from commands.explain import explain
from commands.paste.braces import MOST_CHARACTERS, MOST_WORDS, BraceExpander, TooManyWordsError
from commands.paste.shell import split_words

WORDS = [
    "{a,b}", "x{a,b}y", "{a,b}{1,2}", "{a,{b,c}d}e", "{1..4}", "{4..1}", "{01..10}", "{-2..2}", "{1..10..3}",
    "{10..1..4}", "{1..3..0}", "{a..e}", "{e..a..2}", "{}", "{a}", "{a", "a}", "{a,b", "{a,b}}", "{{a,b}",
    "{{a,b}}", "{x{a},y}", "{a,}z", "{,b}z", "{,}", "a{b,c}{", "'{a,b}'", '"{a,b}"', r"\{a,b}", r"{a\,b}",
    "{'a,b',c}", "{a,'b c'}", "{1..x}", "{1...3}", "--flag={a,b}", '{"a":1,"b":2}', "'{\"a\":1,\"b\":2}'",
    "m-{0000{1..3},x}.gguf", "{a,b}''", "{'',b}", "{-01..1}", "{a,{b},c}", "{{1..2},{3..4}}", "{1..2}{a..b}",
    "x{1..1}", "{,a}{,b}", "{a..c..-1}", "{3..1..1}",
]  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_braces_read_as_in_bash(word: str) -> None:
    process = subprocess.run(
        ["bash", "-c", f'set -f; printf "%s\\0" start {word}'], capture_output=True, text=True, check=True
    )
    assert [one.text for one in BraceExpander().expand(split_words(f"start {word}"))] == process.stdout.split("\0")[:-1]


def test_reference_is_no_brace_and_stays_per_word() -> None:
    assert [one.text for one in BraceExpander().expand(split_words("${X}/{a,b} {$A..3}"))] == [
        "${X}/a",
        "${X}/b",
        "{$A..3}",
    ]


def test_the_words_of_a_server_are_written_out() -> None:
    explanation = explain("llama-server -m /m/a.gguf --lora {a,b}.bin --port 8{0,}1")
    assert explanation.config and explanation.refused is None
    assert explanation.config.argv == (
        "llama-server",
        "-m",
        "/m/a.gguf",
        "--lora",
        "a.bin",
        "b.bin",
        "--port",
        "801",
        "81",
    )
    through = explain('ARGS=(--lora {a,b})\nvllm serve org/m "${ARGS[@]}"').config
    assert through and through.argv[-3:] == ("--lora", "a", "b")


def test_a_manifest_knows_no_braces() -> None:
    text = "services:\n  llm:\n    image: vllm/vllm-openai:v0.11.0\n    command: --model org/{a,b}\n"
    config = explain(text).config
    assert config and config.model == "org/{a,b}"


HOSTILE = [
    "{1..1000000000}",
    "{1..1000000000000000000}",
    "{-1000000000..1000000000..2}",
    "{a,b}" * 40,
    "{0..9}" * 4,
    "{0..99}{0..99}",
    "{" + ",".join("a" * 6000) + "}",
    "{a," * 60 + "b" + "}" * 60,
    "x" * 20_000 + "{1..4000}",
]


@pytest.mark.parametrize("word", HOSTILE, ids=lambda word: word[:30])
def test_oversized_braces_are_refused_with_place(word: str) -> None:
    explanation = explain(f"# a comment\nvllm serve org/m --lora-modules {word}")
    assert explanation.refused and explanation.refused.startswith("Line 2: The braces in ") and explanation.config
    assert len(explanation.refused) < 200


@pytest.mark.parametrize(
    "word", ["{" * 50_000, "{a," * 20_000, "}" * 50_000, "{" * 20_000 + "a,b" + "}" * 20_000, "{a}" * 20_000]
)
def test_literal_braces_stay_text_in_any_number(word: str) -> None:
    """Were each looked for to the end of the word, this would take minutes."""
    assert explain(f"vllm serve org/m --x '' {word}").config


def test_the_bounds_are_of_the_whole_paste() -> None:
    braces = BraceExpander()
    braces.expand(split_words("{1..3000}"))
    with pytest.raises(TooManyWordsError):
        braces.expand(split_words("{1..3000}"))
    assert BraceExpander().words_left == MOST_WORDS and BraceExpander().characters_left == MOST_CHARACTERS
    many = "\n".join(["ls {1..5000}"] * 2000)
    explanation = explain(f"{many}\nvllm serve org/m")
    assert explanation.config and explanation.refused is None, "braces of other commands hinder nobody"


PATTERNS = [
    "*.gguf",
    "/models/*.gguf",
    "model-0000[1-3].gguf",
    "./m?.gguf",
    "~/models/*",
    "$DIR/*.gguf",
    "/m/q*/x.gguf",
]


def globs(words: Iterable[str]) -> list[str]:
    """What is looked up among the files."""
    return [pattern for pattern in map(EnvironmentExpansion({"HOME": "/h"}).pattern, words) if pattern is not None]


@pytest.mark.parametrize("word", PATTERNS)
def test_file_pattern_is_kept_for_the_launch(word: str) -> None:
    config = explain(f"export A=1\nDIR=/models\nllama-server -m {word}").config
    assert config and globs(config.argv) == [word.replace("$DIR", "/models").replace("~", "/h")]
    quoted = explain(f'llama-server -m "{word}"').config
    assert quoted and globs(quoted.argv) == [], "quoted, it is the name of a file"


def test_variable_with_pattern_is_a_pattern() -> None:
    unquoted, quoted = (explain(f"M=/m/*.gguf\nllama-server -m {word}").config for word in ("$M", '"$M"'))
    assert unquoted and globs(unquoted.argv) == ["/m/*.gguf"]
    assert quoted and globs(quoted.argv) == []


@pytest.mark.parametrize(
    "words",
    ["--allowed-origins *", "--x [1,2,4]", '--x ["*"]', "--u http://h:1/v1?x=1", "--x={a}*", "--x a?", "--q -C*/x"],
)
def test_signs_that_name_no_file_are_no_pattern(words: str) -> None:
    config = explain(f"vllm serve org/m {words}").config
    assert config and globs(config.argv) == []


def test_container_shell_text_left_for_its_shell() -> None:
    text = "docker run --entrypoint bash ghcr.io/ggml-org/llama.cpp:server -c 'llama-server -m /models/*.gguf'"
    config = explain(text).config
    assert config and is_shell_text(config.argv, len(config.argv) - 1)
    assert EnvironmentExpansion({}).words(config.argv)[-1] == "llama-server -m /models/*.gguf"
