"""A pasted command reaches its server word for word as a real bash would hand it over."""

from __future__ import annotations

import json
import random
import subprocess
from itertools import groupby

import pytest

from commands.expansion import expand_config
from commands.explain import explain, explain_with_secrets
from commands.quoting import as_literal
from commands.secrets import hide_secrets
from commands.write import shell_text
from domain import Config
from launcher.processes.shim import complete_argv

ENVIRON = {"LC_ALL": "C.UTF-8", "HOME": "/home/driver", "MODEL": "/data/m", "X": "x", "PATH": "/usr/bin:/bin"}
TELL = 'vllm() { printf "%s\\0" vllm "$@"; }; docker() { printf "%s\\0" docker "$@"; }\n'
PASTES = [
    """vllm serve m --hf-overrides '{"$ref": 1, "${X}": "$X"}'""",
    r"""vllm serve m --hf-overrides "{\"\$ref\": \"$X\"}" """,
    "vllm serve '$MODEL'",
    r"vllm serve \$MODEL",
    'vllm serve "$MODEL"/' + "'$X'",
    r"vllm serve m --x '\$X'",
    r"""vllm serve m --x "\\$X" """,
    r"""vllm serve m --x '\\'"$X" """,
    "vllm serve '~/m' --dir ~/x",
    r"vllm serve \~/m",
    'vllm serve "~/m" --dir=~/x',
    "vllm serve ~/'my model'",
    "NAME='~/x:$X' vllm serve m --x '${NAME}'",
    "DIR=~/x\nvllm serve m --dir=$DIR --other $DIR",
    "DIR='~/x'\nvllm serve $DIR",
    "TEMPLATE='{$X}'\nvllm serve m --template \"$TEMPLATE\"",
    "ARGS=(--x '$X' 'a b')\nvllm serve m \"${ARGS[@]}\"",
    r"vllm serve m --x $'a\nb\t\'c\' \x41é\\'",
    'vllm serve m --x $"a b"',
    "vllm serve m --x '' --y \"\"",
    "vllm serve m --x 'a  b' --y a\\ b",
    "vllm serve m --x '$(date)' --y '`date`'",
    "vllm serve m --x 'a$' --y '$1' --z '$$'",
    "docker run -e 'A=$X' -e B=$X -v '~/c:/c' -v ~/d:/d vllm/vllm-openai --model m",
    """docker run --entrypoint bash vllm/vllm-openai -c 'exec vllm serve "$MODEL" --x "$X"'""",
    """docker run --entrypoint bash vllm/vllm-openai -c "exec vllm serve $MODEL --x \\$X" """,
    'vllm serve "$MODEL"-fp8 --x "$X"y --y $X\'_1\' --z $X""1 --lora "$X"$\'\\x31\'',
    'X1=7\nDIR=$MODEL\nvllm serve m --x "$X"1 --y $X"$X1" --z $DIR"b"',
    'vllm serve m --x "$X€é"',
    "vllm serve m --a ''~/x --b ~'/x' --c ~\"\"/x --d ~\":\" --e \\\\~/x ~:1 --f ''~",
    r"vllm serve m --x $'\1\x02\3$X~' --y ~$'\1' --z a$'\1'~",
    "docker run --label='a b' --health-cmd='curl $X' vllm/vllm-openai --model m",
]


def in_bash(text: str) -> list[str]:
    """The words that the program is given."""
    process = subprocess.run(["bash"], input=TELL + text, env=ENVIRON, capture_output=True, text=True, check=True)
    return process.stdout.split("\0")[:-1]


def config_of(text: str) -> Config:
    config = explain(text).config
    assert config
    return config


def launched(config: Config) -> list[str]:
    run, missing, _ = expand_config(config, ENVIRON)
    assert missing == []
    return list(run.argv)


@pytest.mark.parametrize("paste", PASTES)
def test_paste_reaches_program_as_from_a_shell(paste: str) -> None:
    assert launched(config_of(paste)) == in_bash(paste)


@pytest.mark.parametrize("paste", PASTES)
def test_copied_command_equals_shell_and_pitwall(paste: str) -> None:
    config = config_of(paste)
    copied = shell_text(config.argv, {} if config.image else config.env)
    assert in_bash(copied) == in_bash(paste)
    assert config_of(copied).argv == config.argv


def generated(seed: int) -> str:
    """A command of words in pieces: bare, in either quotes, escaped, in C's escapes; one seed, one command."""
    draw = random.Random(seed)
    signs = [*"aB1é€😀~=:/-.,%@_", "~/"]
    quoted = [*signs, *"{}[]!*#;&|<>( ", "\n"]
    kinds = [
        ("{}", [*signs, "$X", "${X}", "$MODEL", "~/x"]),
        ("'{}'", [*quoted, "\\", "$", "$X", "${X}", '"', "`"]),
        ('"{}"', [*quoted[:-9], " ", "'", "\\\\", "\\$", '\\"', "\\`", "\\a", "\\\n", "$X", "${X}"]),
        ("$'{}'", [*signs, " ", "\\n", "\\t", "\\'", "\\\\", "\\x41", "\\u20ac", "\\101", "\\1", '"', "$X", "\\q"]),
        ("\\{}", [*"aB1~$'\"`#;&|<>()\\=:/"]),
    ]

    def piece() -> str:
        form, parts = draw.choice([kinds[0], *kinds])
        return form.format("".join(draw.choices(parts, k=1 if form == "\\{}" else draw.randrange(5))))

    words = ["".join(piece() for _ in range(draw.randrange(1, 5))) for _ in range(3)]
    return "vllm serve m --x=_" + draw.choice([" ", "\t", " \\\n", "  "]).join(words)


def test_generated_commands_match_a_shell() -> None:
    """In one bash; `X1` and such, which nothing sets, are no command that Pitwall starts."""
    pastes = [paste for paste in map(generated, range(400)) if not explain_lacks(paste)]
    assert len(pastes) > 300
    expected = in_bash("\n".join(f"{paste}\nprintf '\\1\\0'" for paste in pastes))
    actual_words = [list(words) for is_end, words in groupby(expected, key=lambda word: word == "\1") if not is_end]
    assert [launched(config_of(paste)) for paste in pastes] == actual_words


def explain_lacks(paste: str) -> list[str]:
    """The names in it that nothing sets."""
    return expand_config(config_of(paste), ENVIRON).missing


@pytest.mark.parametrize("piece", ["''a", "$X'a'", "~=''", "=~", "\\\\''", "\\\\$X"])
def test_word_of_many_pieces_stays_linear(piece: str) -> None:
    """Were it a piece times all before, this would take minutes."""
    paste = f"vllm serve m --x {piece * 10_000}'x'"
    assert launched(config_of(paste)) == in_bash(paste)


@pytest.mark.parametrize("value", ["pa$word", "$ecretive", "a~b$HOME", "back\\$lash", "a/b?c*[x]"])
def test_a_quoted_secret_keeps_its_dollar(value: str) -> None:
    config, secrets = explain_with_secrets(f"vllm serve m --api-key '{value}'")[:2]
    assert config.config and value not in str(config.config)
    run = expand_config(config.config, ENVIRON).config
    hidden = hide_secrets(run.argv, run.env, secrets, {})
    assert complete_argv(hidden.argv, hidden.secrets)[-1] == value


def test_process_environment_keeps_its_quotes() -> None:
    config = config_of("A='$X' B=$X C='~/x' D=~/x vllm serve m")
    assert expand_config(config, ENVIRON)[0].env == {"A": "$X", "B": "x", "C": "~/x", "D": "/home/driver/x"}


def test_stated_paste_values_omit_internal_marks() -> None:
    assert explain("""vllm serve m --hf-overrides '{"$ref": 1}'""").as_json()["unknown_flags"] == [
        '--hf-overrides {"$ref": 1}'
    ]


def test_a_manifest_says_its_own_dollars() -> None:
    compose = """services:
  llm:
    image: vllm/vllm-openai
    environment: {A: "$$X", B: "$X"}
    command: --model m --hf-overrides '{"$$ref":"$X"}'
"""
    run, missing, _ = expand_config(config_of(compose), ENVIRON)
    assert missing == [] and run.unknown_flags and run.env == {"A": "$X", "B": "x"}
    kubernetes = """kind: Pod
spec:
  containers:
  - image: vllm/vllm-openai
    args: ["--model", "m", "--hf-overrides", "{\\"$ref\\": 1}"]
    env:
    - {name: A, value: $X}
"""
    config = config_of(kubernetes)
    assert json.loads(explain(kubernetes).as_json()["unknown_flags"][0].partition(" ")[2]) == {"$ref": 1}
    assert expand_config(config, ENVIRON)[0].env == {"A": "$X"}


@pytest.mark.timeout(20)
def test_endless_backslashes_take_no_time() -> None:
    assert as_literal("/a" + "\\" * 300_000).count("\\") == 300_000
