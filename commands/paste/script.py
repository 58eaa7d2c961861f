"""Splits pasted shell text into simple commands, and separates them from prose, log lines and heredoc bodies."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from itertools import islice
from shlex import quote

from commands.paste.notes import Notes
from commands.paste.servers import INVOCATIONS, SERVER_START, basename
from commands.paste.shell import Command, Lexer, UnclosedQuoteError

MOST_COMMANDS = 5000  # a paste with more is no launch command
MOST_NOTES = 20
MOST_OBJECTS = 20  # JSON objects of one line of a process listing
_BARE_JSON = re.compile(r"(?<=[\s=])\{[\"}]")
_DECODER = json.JSONDecoder()
_QUOTED_PATH = r"\"(?=[^\"\n]*[/\\])[^\"\n]*\"|'(?=[^'\n]*[/\\])[^'\n]*'"  # which may have blanks
_FIRST = re.compile(rf"{_QUOTED_PATH}|[^\s;&|(){{}}]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[\w.-]+\])?\+?=")
_DEFINITION = re.compile(r"^[ \t]*(?:function[ \t]+)?([A-Za-z_][\w.-]{0,60})[ \t]*\([ \t]*\)", re.MULTILINE)
_READ = re.compile(r"\s*(?:read|mapfile|readarray|getopts)\s+(?:-|\w+\s*$|\"|')")
COMMAND_WORDS = """
python python3 uv uvx pipx poetry pdm conda mamba
sudo doas gosu unbuffer caffeinate chrt systemd-run systemd-inhibit systemd-cat
nohup env exec time cmd nice ionice taskset numactl stdbuf timeout setsid screen tmux srun sbatch salloc mpirun
mpiexec torchrun accelerate ray nsys ncu docker podman nerdctl docker-compose kubectl helm singularity apptainer
bash sh zsh ssh eval command nvidia-smi export declare typeset set unset cd mkdir rm cp mv cat tee echo printf
curl wget git pip pip3 apt apt-get source . if then else elif fi for while do done case esac function return exit sleep
kill pkill wait trap ulimit local readonly test [ [[ : ! true false huggingface-cli hf modprobe systemctl chmod chown
start
"""
_COMMAND_WORDS = frozenset(COMMAND_WORDS.split()).union(
    *(invocation.first_words for invocation in INVOCATIONS.values())
)
_PYTHON = re.compile(r"(python|pypy)[\d.]*$")
_SERVER_IN_PROSE = re.compile(
    r"(?:^|[\s`:>$#%❯✗»])(?P<start>(?:[A-Z_]{3,}=\S+\s+)*(?:sudo\s+)?"
    r"(?:vllm\s+serve\s|python[\d.]*\s+-m\s+(?:vllm|sglang)[.\w]+\s|sglang\s+serve\s"
    r"|(?:\S{0,300}[/\\])?llama-server(?:\.exe)?\s|trtllm-serve\s|(?:docker|podman)\s+run\s))"
)
_PROSE_LEADS_IN = re.compile(r"[:>$#%❯✗»`]\s*$")


def split_script(text: str, notes: Notes) -> Iterator[Command]:
    """Yield the simple commands in order; one with an open quote has `unclosed_quote` set."""
    position, line, count = 0, 1, 0
    functions, open_cases = set(_DEFINITION.findall(text)), 0
    while position < len(text) and count < MOST_COMMANDS:
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        start = 0 if open_cases else command_start(text[position:end], functions)
        if start is None:
            leave_out(notes, text[position:end])
            position, line = end + 1, line + 1
            continue
        lexer = Lexer(text, position + start, line)
        try:
            for command in islice(lexer.commands(), MOST_COMMANDS):
                yield command
                count += 1
                open_cases = max(0, open_cases + _case_change(command))
        except UnclosedQuoteError as error:
            error.command.unclosed_quote = error
            yield error.command
            line_end = text.find("\n", error.position)
            position, line = (line_end + 1 if line_end >= 0 else len(text)), error.line + 1
            continue
        position, line = lexer.position, lexer.line


def _case_change(command: Command) -> int:
    """The change in the number of open `case` blocks."""
    words = [word.text for word in command.words]
    return ("case" in words and "in" in words) - (words[:1] == ["esac"])


def command_start(line: str, functions: Collection[str] = ()) -> int | None:
    """Return the start of a line's command; None for prose, a log line or data."""
    first = _FIRST.search(line)
    if not first or _is_command_word(first[0]) or first[0] in functions or _READ.match(line):
        return 0
    server_match = _SERVER_IN_PROSE.search(line)
    if server_match and _PROSE_LEADS_IN.search(line[: server_match.start("start")]):
        return server_match.start("start")
    return None


def _is_command_word(word: str) -> bool:
    word = word.strip("'\"\\")
    if _ASSIGNMENT.match(word) or word.startswith(("#", "$", "<", ">", "./", "../", "/", "~/")):
        return True
    name = basename(word)
    return (
        name in _COMMAND_WORDS or bool(_PYTHON.match(name)) or name.endswith((".sh", ".py")) or "llama-server" in name
    )


def server_lines(text: str) -> list[tuple[str, str]]:
    """Return the lines with a server command and flags, and each from the command on: `ps` listings, prose."""
    matches = (SERVER_START.search(line) for line in text.split("\n"))
    return [
        (match.string, quote_json(match.string[match.start() :]))
        for match in matches
        if match and " -" in match.string[match.end() - 1 :]
    ]


def quote_json(line: str) -> str:
    """Quote the JSON objects that a process listing prints without quotes."""
    parts, position = [], 0
    for match in islice(_BARE_JSON.finditer(line), MOST_OBJECTS):
        if match.start() < position:
            continue
        try:
            _, end = _DECODER.raw_decode(line, match.start())
        except (ValueError, RecursionError):
            continue
        parts += [line[position : match.start()], quote(line[match.start() : end])]
        position = end
    return "".join(parts) + line[position:]


def leave_out(notes: Notes, text: str) -> None:
    """List a part that was left out as one line, up to a limit."""
    short = " ".join(text.split())
    if not short or short.startswith("#"):
        return
    if len(notes.left_out) < MOST_NOTES:
        notes.add(notes.left_out, short)
    elif len(notes.left_out) == MOST_NOTES:
        notes.left_out.append("… and more")
