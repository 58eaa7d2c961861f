"""Values that depend on a condition, a loop, `case` or a function are never read as certain."""

from __future__ import annotations

import pytest

from commands.explain import explain
from domain import Config


def config_of(paste: str) -> Config:
    config = explain(paste).config
    assert config
    return config


IF = 'if [ "$LONG" = 1 ]; then\n  {}\nfi\n'
CHANGES = {
    "if": (IF.format("LEN=2"), '2 if [ "$LONG" = 1 ]'),
    "case": ("case $SIZE in\n big|huge)\n  LEN=2\n  ;;\nesac\n", "2 if $SIZE is big|huge"),
    "case in a line": ("case $SIZE in big) LEN=2;; esac\n", "2 if $SIZE is big"),
    "and": ('[ -n "$BIG" ] && LEN=2\n', '2 if [ -n "$BIG" ]'),
    "or": ("command -v x || LEN=2\n", "2 unless command -v x"),
    "group": ('[ -n "$BIG" ] && { LEN=2; X=3; }\n', '2 if [ -n "$BIG" ]'),
    "loop": ("while read -r n; do\n LEN=2\ndone\n", "2 in the loop `while read -r n`"),
    "nested": ("if a; then if b; then LEN=2; fi; fi\n", "2 if a and if b"),
}


@pytest.mark.parametrize(("change", "told"), CHANGES.values(), ids=CHANGES)
def test_the_unconditional_value_is_read_with_a_warning(change: str, told: str) -> None:
    read = explain(f"LEN=1\n{change}vllm serve m --port 80 --max-model-len $LEN")
    assert read.config and (read.config.max_model_len, read.config.port) == (1, 80)
    assert read.warnings == [f"$LEN is 1, but {told}"] and read.unresolved == []


@pytest.mark.parametrize(
    "script",
    [
        'ARGS="--max-model-len $LEN"\nvllm serve m $ARGS',
        'ARGS=(m --max-model-len $LEN)\nvllm serve "${ARGS[@]}"',
        'bash -c "vllm serve m --max-model-len $LEN"',
        "docker run vllm/vllm-openai --model m --max-model-len ${LEN}",
    ],
)
def test_the_warning_follows_the_value(script: str) -> None:
    read = explain(f"LEN=1\n{IF.format('LEN=2')}{script}")
    assert read.config and read.config.max_model_len == 1
    assert any("but 2 if" in text for text in read.warnings)


DECISIONS = {
    "if, else": "if a; then LEN=1; else LEN=2; fi",
    "case": "case $1 in\n small) LEN=1;;\n *) LEN=2 ;;\nesac",
    "and, or": "[ a ] && LEN=1 || LEN=2",
    "unset otherwise": "if a; then LEN=1; elif b; then LEN=2; fi",
    "loop": "for LEN in 1 2; do",
    "an end": "LEN=3\nif a; then LEN=1; elif b; then LEN=2; else exit 1; fi",
}


@pytest.mark.parametrize("decision", DECISIONS.values(), ids=DECISIONS)
def test_a_value_without_a_certain_one_is_unresolved_with_its_candidates(decision: str) -> None:
    read = explain(f"{decision}\nvllm serve m --port 80 --max-model-len $LEN")
    assert read.config and (read.config.max_model_len, read.config.port) == (None, 80)
    unresolved = next(text for text in read.unresolved if text.startswith("$LEN: "))
    assert "1" in unresolved and "2" in unresolved and "3" not in unresolved


@pytest.mark.parametrize(
    "script",
    [
        "if a; then LEN=1; else LEN=1; fi",
        "LEN=1\nif a; then LEN=2; echo usage; exit 1; fi",
        "for LEN in 1; do",
        "setup() {\n  LEN=1\n}\nsetup",
        "LEN=1\nsetup() {\n  LEN=2\n}",
        "LEN=1\nsetup() {\n  local LEN=2\n}\nsetup",
        "if a; then LEN=1",
    ],
)
def test_a_value_that_no_condition_decides_is_certain(script: str) -> None:
    read = explain(f"{script}\nvllm serve m --max-model-len $LEN")
    assert read.config and read.config.max_model_len == 1
    assert read.warnings == [] and read.unresolved == []


def test_flags_of_both_branches_are_told_and_none_is_taken() -> None:
    read = explain('if [[ $N -gt 1 ]]; then P="-tp $N"; else P="-tp 1"; fi\nvllm serve m $P --max-num-seqs 64')
    assert read.config and (read.config.tensor_parallel, read.config.max_num_seqs) == (None, 64)
    assert "$P: -tp $N if [[ $N -gt 1 ]]; -tp 1 otherwise" in read.unresolved


GROWTH = {
    "array": ("A=(m --port 80)", "A+=(--enforce-eager)", "A+=(-tp 2)", '"${A[@]}"'),
    "text": ('A="m --port 80"', 'A="$A --enforce-eager"', 'A="$A -tp 2"', "$A"),
    "appended text": ('A="m --port 80"', 'A+=" --enforce-eager"', 'A+=" -tp 2"', "$A"),
}


@pytest.mark.parametrize(("base", "addition", "rest", "use"), GROWTH.values(), ids=GROWTH)
def test_a_condition_adds_flags_to_those_that_are_certain(base: str, addition: str, rest: str, use: str) -> None:
    read = explain(f"{base}\n{IF.format(addition)}{rest}\nvllm serve {use}")
    assert read.config
    assert (read.config.model, read.config.port, read.config.tensor_parallel) == ("m", 80, 2)
    assert read.config.enforce_eager is None
    assert [text.partition("also gets ")[2] for text in read.warnings] == ['--enforce-eager if [ "$LONG" = 1 ]']


def test_what_branches_add_differently_is_unresolved_and_the_rest_is_read() -> None:
    read = explain(
        f"A=(m)\n{IF.format('A+=(--enforce-eager)')}"
        'if b; then A+=(--port 1); else A+=(--port 2); fi\nvllm serve "${A[@]}"'
    )
    assert read.config and (read.config.model, read.config.port) == ("m", None)
    assert read.unresolved == ["${A[@]}"]
    assert [text.partition("also gets ")[2] for text in read.warnings] == [
        '--enforce-eager if [ "$LONG" = 1 ]', "--port 1 if b", "--port 2 otherwise",
    ]  # fmt: skip


def test_options_of_a_script_are_unresolved() -> None:
    read = explain(
        "TP=1\nwhile [[ $# -gt 0 ]]; do\n  case $1 in\n    --tp) TP=$2; shift 2;;\n"
        "    --eager) EXTRA+=(--enforce-eager); shift;;\n    *) shift;;\n  esac\ndone\n"
        'vllm serve m -tp $TP "${EXTRA[@]}"'
    )
    assert read.config and (read.config.tensor_parallel, read.config.enforce_eager) == (1, None)
    assert any("if $1 is --tp" in text for text in read.warnings)
    assert any(text.startswith("${EXTRA[@]}: --enforce-eager") for text in read.unresolved)


def test_a_function_is_read_with_the_words_of_its_call() -> None:
    config = config_of('run() {\n  local p=$2\n  vllm serve "$1" --port "$p" "${@:3}"\n}\nrun o/m 81 --enforce-eager\n')
    assert (config.model, config.port, config.enforce_eager, config.env) == ("o/m", 81, True, {})


def test_an_entry_of_a_table_is_read_by_its_key() -> None:
    config = config_of('declare -A K=([low]=6)\nK[mid]=4\nvllm serve m -tp ${K[mid]} --max-num-seqs "${K[low]}"')
    assert (config.tensor_parallel, config.max_num_seqs, config.env) == (4, 6, {})
    read = explain("declare -A K=([low]=6 [high]=2)\nvllm serve m -tp ${K[$P]:-3}")
    assert read.config and read.config.tensor_parallel is None
    assert "${K[$P]:-3}: 6 or 2 or 3" in read.unresolved


def test_a_typed_in_value_is_unresolved() -> None:
    read = explain('read -p "Model: " MODEL\nvllm serve "$MODEL" --port 80')
    assert read.unresolved == ["$MODEL: read when the script runs"]


@pytest.mark.parametrize(
    ("declaration", "env"),
    [
        ("declare -i A=1", {}),
        ("readonly A=1", {}),
        ("typeset A=1", {}),
        ("local A=1", {}),
        ("declare -x A=1", {"A": "1"}),
        ("export A=1", {"A": "1"}),
        ("set -a\nA=1\nset +a\nB=2", {"A": "1"}),
        ("if a; then export A=1; fi", {}),
    ],
)
def test_only_exported_names_are_environment_variables(declaration: str, env: dict[str, str]) -> None:
    read = explain(f"{declaration}\nvllm serve m")
    assert read.config and read.config.env == env
    assert ("the environment variable A is 1 if a" in read.warnings) == declaration.startswith("if")


@pytest.mark.parametrize(
    "paste",
    [
        "vllm serve m " + "--flag x " * 30_000,
        "vllm serve m" + " \\\n  --flag x" * 30_000,
        "services:\n  a:\n    image: vllm/vllm-openai\n    command:\n" + "    - --flag\n" * 60_000,
    ],
    ids=["a line", "lines", "a manifest"],
)
def test_a_command_of_too_many_words_is_refused_as_such(paste: str) -> None:
    refused = explain(paste).refused or ""
    assert "The server's command has 6000" in refused and "at most 5000" in refused


LOOP_BODY = "do\n  CUDA_VISIBLE_DEVICES=$i vllm serve o/m --port 800$i &\ndone\n"
LOOPS = {
    "for i in {0..2}; ": "for i in {0..2}",
    "for ((i=0; i<3; i++)); ": "for i in {0..2}",
    "for (( i = 0; i <= 2; i += 1 ))\n": "for i in {0..2}",
}


@pytest.mark.parametrize(("head", "shown_text"), LOOPS.items())
def test_a_server_in_a_loop_is_told(head: str, shown_text: str) -> None:
    explanation = explain(head + LOOP_BODY)
    assert explanation.config and (explanation.config.model, explanation.config.port) == ("o/m", None)
    assert explanation.unresolved == [f"$i: 0; 1; 2 in the loop `{shown_text}`"] and explanation.left_out == []
    text = f"the command stands in the loop `{shown_text}`: it may start several servers, and the first is read"
    assert explanation.warnings == [text, "port is unknown: 800$i"]


def test_the_numbers_of_a_loop_may_be_unknown() -> None:
    explanation = explain(f"for ((i=0; i<N; i++)); {LOOP_BODY}")
    assert explanation.config and explanation.config.port is None
    assert "$i: $((i=0; i<N; i++)) in the loop `for i in $((i=0; i<N; i++))`" in explanation.unresolved


def test_a_loop_without_a_list_is_told() -> None:
    explanation = explain(f"i=1\nwhile [ $i -lt 4 ]; {LOOP_BODY}")
    assert any("the loop `while [ $i -lt 4 ]`: it may start several servers" in text for text in explanation.warnings)
    assert explain(f"for i in 1; {LOOP_BODY}").warnings == []


CASE = """MODE=${MODE:-fast}
case "$MODE" in
  slow) ARG='' ;;
  fast|f*) ARG='--max-model-len 4096' ;;
  *) echo bad; exit 2 ;;
esac
vllm serve m $ARG
"""


def test_case_takes_the_branch_of_a_value_that_the_script_assigns() -> None:
    explanation = explain(CASE)
    assert explanation.config and explanation.config.max_model_len == 4096
    assert explanation.warnings == ['$ARG is --max-model-len 4096, but "" if $MODE is slow']


def test_case_of_an_unknown_value_takes_no_branch() -> None:
    explanation = explain(CASE.partition("\n")[2])
    assert (
        explanation.config
        and explanation.config.max_model_len is None
        and any("$ARG: " in text for text in explanation.unresolved)
    )


def test_a_substitution_in_single_quotes_is_no_unknown_value() -> None:
    explanation = explain(
        'N=\'--seed 1 --name "$(cat /x)"\'\nif a; then M=1; fi\nbash -c "vllm serve m $N --port 80"\n'
    )
    assert explanation.config and explanation.config.port == 80 and "--seed 1" in explanation.config.unknown_flags
    assert explanation.unresolved == ["$(cat /x)"]


OPERATIONS = {
    "${MODE#mtp}": "5", "${MODE%5}": "mtp", "${REPO##*/}": "draft", "${REPO%%/*}": "org", "${MODE/mtp/x}": "x5",
    "${REPO//a/b}": "org/sub/drbft", "${MODE#nothing}": "mtp5", "${REPO%/*}": "org/sub",
}  # fmt: skip


@pytest.mark.parametrize(("reference", "value"), OPERATIONS.items())
def test_what_a_shell_cuts_from_a_value(reference: str, value: str) -> None:
    explanation = explain(f'MODE=mtp5\nREPO=org/sub/draft\nvllm serve "{reference}" --port 80\n')
    assert explanation.config and explanation.config.model == value and explanation.unresolved == []


def test_what_a_shell_cuts_from_an_unknown_value_is_unresolved() -> None:
    explanation = explain("vllm serve m --max-num-seqs ${MODE#mtp}\n")
    assert explanation.config and explanation.config.max_num_seqs is None and "${MODE#mtp}" in explanation.unresolved


GUARDED = """mounts=()
for f in a b; do mounts+=(-v "$PWD/$f:/$f:ro"); done
docker run --rm --gpus all ${mounts[@]+"${mounts[@]}"} -v /m:/m "${IMAGE:-vllm/vllm-openai:v0.25.0}" --model o/m
"""


def test_an_array_that_is_guarded_against_being_empty() -> None:
    explanation = explain(GUARDED)
    assert explanation.config and (explanation.config.image, explanation.config.model) == (
        "vllm/vllm-openai:v0.25.0",
        "o/m",
    )
    assert explanation.config.volumes[-1] == "/m:/m"


def test_the_lines_of_an_array_need_no_backslash() -> None:
    explanation = explain('CMD=(\n  python3 -m sglang.launch_server\n  --model-path o/m\n  --tp 4\n)\n"${CMD[@]}"\n')
    assert explanation.config and (
        explanation.config.model,
        explanation.config.tensor_parallel,
        explanation.repaired,
    ) == ("o/m", 4, [])
