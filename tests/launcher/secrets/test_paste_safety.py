"""Any text is answered, quickly, without a secret of it in the answer and without anything being run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands.explain import explain
from tests.cpu_limit import cpu_limit

ROOT = Path(__file__).resolve().parents[3]
PIECE_TEXTS = """
vllm serve m;docker run;-p 8000:8000;-e A=1;vllm/vllm-openai;--model;--port;--speculative-config;';";`;\\;$X;${X:-;}
$(;);((;<<EOF;EOF;&&;|;>;2>&1;# ;- ;services:;image: x;command: [;];apiVersion: v1;{;--;-tp;=;bash -c;export A=
llama-server -m x.gguf;python -m sglang.launch_server;\x1b[2K;\x00;–;“;&quot;;> ;```;:;&a;*a;<<: *a
"""
PIECES = st.sampled_from([*PIECE_TEXTS.replace("\n", ";").split(";"), ";", "\n", "\\\n"])
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=30).map(" ".join), st.lists(PIECES, max_size=30).map("".join))
SECRETS = st.from_regex(r"[A-Za-z0-9]{12,24}", fullmatch=True).map(lambda s: f"Zq{s}")
HIDING_PLACES = [
    "HF_TOKEN={} vllm serve m",
    "export HF_TOKEN={}\nvllm serve m --port 1",
    "OPENAI_API_KEY={}; vllm serve m --api-key $OPENAI_API_KEY",
    "vllm serve m --api-key {} other",
    "vllm serve m --api-key={}",
    "vllm serve m --api-key k1 {}",
    "llama-server -m m.gguf -hft {} --api-key {}",
    "docker run -e HF_TOKEN={} vllm/vllm-openai --model m",
    "docker run -eHF_TOKEN={} vllm/vllm-openai --model m",
    "docker run --env=HF_TOKEN={} vllm/vllm-openai --model m",
    "docker run vllm/vllm-openai bash -c 'export HF_TOKEN={} && vllm serve m'",
    "docker run -e HF_TOKEN={} example.org/unknown:1",
    "huggingface-cli login --token {}\nvllm serve m",
    "vllm serve m\ncurl -H 'Authorization: Bearer {}' http://x",
    "# export HF_TOKEN={}\nvllm serve m",
    "vllm serve m \\\n # --api-key {} \\\n --port 1",
    "vllm serve m --hf-token '{}",
    "services:\n  a:\n    image: vllm/vllm-openai\n    environment:\n      - HF_TOKEN={}\n",
    "apiVersion: v1\nspec:\n containers:\n - image: vllm/vllm-openai\n   args: [--api-key, {}]\n",
    "kubectl create secret generic x --from-literal=HF_TOKEN={}",
]


@given(TEXTS)
@settings(max_examples=300)
def test_any_text_is_answered(text: str) -> None:
    explanation = explain(text)
    assert (explanation.config is None) <= (explanation.refused is not None)


@pytest.mark.parametrize("place", HIDING_PLACES)
@given(secret=SECRETS)
@settings(max_examples=10)
def test_no_secret_of_a_paste_is_in_the_answer(place: str, secret: str) -> None:
    assert secret not in explain(place.replace("{}", secret)).model_dump_json()


UNITS = [
    "vllm serve m --port 1 \\\n",
    "echo 'x' \"$Y\"\n",
    "${",
    "$(",
    "'",
    '"',
    "`",
    "> ",
    "<<A\n",
    "[",
    "{a: ",
    "- a\n",
]
UNITS += [
    "a/",
    "a: 1\n",
    "-x -y z ",
    "${a}",
    "--x ",
    "–a ",
    "# ",
    "&a [*a,",
    "A=$A$A\n",
    "(",
    "\\",
    "“",
    "bash -c '",
    'vllm serve "',
    "x",
    "\n",
]


STARTS = ("vllm serve m\n", "docker run vllm/vllm-openai ", "services:\n image: x\n")


@pytest.mark.parametrize(("number", "unit"), list(enumerate(UNITS)))
@pytest.mark.wide
def test_a_long_paste_is_answered(number: int, unit: str) -> None:
    """By itself, and behind one of the beginnings that are read in different ways; 100 kB take 1.5 s at worst.

    What grows with the square would take a quarter of the 30 s that 200 kB have below.
    """
    with cpu_limit(7.5):
        explain(unit * (100_000 // len(unit)))
        explain(STARTS[number % len(STARTS)] + unit * (100_000 // len(unit)))


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_long_paste_is_answered_after_any_prefix(unit: str) -> None:
    with cpu_limit(30):
        for start in STARTS:
            explain(start + unit * (200_000 // len(unit)))


def test_aliases_that_multiply_do_not_grow() -> None:
    levels = "\n".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30))
    explain(f"services: x\nimage: vllm\na0: &a0 [x]\n{levels}\n")


def test_variables_that_multiply_do_not_grow() -> None:
    lines = "\n".join(f"A{i}=$A{i - 1}$A{i - 1}" for i in range(1, 60))
    explanation = explain(f"A0=x\n{lines}\nvllm serve $A59")
    assert len(explanation.model_dump_json()) < 100_000


def test_nothing_is_run(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    for paste in (
        f"vllm serve $(touch {witness})",
        f"vllm serve `touch {witness}`; touch {witness}",
        f"touch {witness} | vllm serve m",
    ):
        explain(paste)
    assert not witness.exists()


def test_reading_needs_no_heavy_library() -> None:
    code = (
        "import sys; from commands.explain import explain; explain('vllm serve m');"
        "print([m for m in ('streamlit', 'duckdb', 'pandas', 'plotly') if m in sys.modules])"
    )
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"
