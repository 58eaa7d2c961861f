"""Finds the server command in a cleaned paste: tries shell text, heredocs and manifests, the most likely first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from commands.paste.braces import TooManyWordsError
from commands.paste.candidates import Candidate, in_container, in_words, unread_script
from commands.paste.cleaning import AROUND_CODE, clean, join_lost_lines, uncomment
from commands.paste.control_flow import ControlFlow
from commands.paste.files import HEREDOC_NOTE, take_heredocs
from commands.paste.functions import MAX_CALL_DEPTH, MOST_CALLS, Functions
from commands.paste.manifests import looks_like_manifest, read_manifest
from commands.paste.notes import Notes, PasteRefusedError
from commands.paste.script import leave_out, server_lines, split_script
from commands.paste.servers import takes_of
from commands.paste.shell import Command, Word
from commands.paste.variables import PARAMETERS, Arg, State, Variables
from commands.paste.yaml_commands import YamlCommand, read_folded_blocks, read_yaml_commands

MAX_SCRIPT_DEPTH = 4  # bash -c within bash -c
MOST_WORDS = 5000  # a command with more launches nothing
EXPORTS = frozenset({"export", "declare", "typeset", "local", "readonly", "set"})
_LOCAL = frozenset({"local", "declare", "typeset"})
_SETTERS = frozenset({":", "unset", "read", "mapfile", "readarray", "getopts"})
_COMMENT_LINE = re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]\w*")
_BATCH_OPTION = re.compile(r"^#SBATCH[ \t]+(--?[A-Za-z][^\n]*)", re.MULTILINE)
_SUBSTITUTION = re.compile(r"\$\((?!\()(.+)\)", re.DOTALL)
MOST_BATCH_OPTIONS = 20
_ALL_EXPORT = re.compile(r"-[a-z]*a[a-z]*|allexport")


def find_candidate(text: str, notes: Notes) -> tuple[Candidate | None, Variables]:
    """Return the server command of a paste and its variables; raises PasteRefusedError if the paste is empty."""
    candidate, variables = _find_in(clean(text, notes), notes)
    if AROUND_CODE not in notes.left_out or (candidate and candidate.server):
        return candidate, variables
    # The code block may be the log, with its command in the prose before it.
    prose_notes = Notes()
    in_prose, prose_variables = _find_in(clean(text, prose_notes, keeps_prose=True), prose_notes)
    if in_prose is None or in_prose.server is None:
        return candidate, variables
    vars(notes).update(vars(prose_notes))
    return in_prose, prose_variables


def _find_in(cleaned: str, notes: Notes) -> tuple[Candidate | None, Variables]:
    body, heredocs = take_heredocs(cleaned)
    variables = Variables(notes)
    variables.files.add_heredocs(heredocs)
    unknown: Candidate | None = None
    is_script = body.lstrip().startswith("#!")  # whose comments are no prompt of root
    as_typed = () if is_script else (uncomment(body),)
    for attempt in dict.fromkeys((body, *(heredoc.script for heredoc in heredocs), *as_typed)):
        left_out = list(notes.left_out)
        candidate = _read_text(attempt, variables, notes)
        if candidate and candidate.server:
            if heredocs and attempt is body:
                notes.add(notes.left_out, HEREDOC_NOTE)
            options = [match[1].partition(" #")[0].strip() for match in _BATCH_OPTION.finditer(body)]
            candidate.launcher_flags += [f"sbatch {option}" for option in options[:MOST_BATCH_OPTIONS]]
            return candidate, variables
        if attempt is not body:
            notes.left_out = left_out  # the body, in which there is no server either, has its own
        unknown = unknown or candidate
    listing = _COMMENT_LINE.sub("", body) if is_script else body
    return _read_listing(listing, variables, notes) or unknown, variables


def _read_listing(text: str, variables: Variables, notes: Notes) -> Candidate | None:
    """The first server in the lines of a process listing or of prose; the line that was read is not left out."""
    lines = server_lines(text)
    listing_notes = Notes()
    variables.notes = listing_notes
    candidate = _read_text("\n".join(command for _, command in lines), variables, listing_notes)
    variables.notes = notes
    if candidate is None or candidate.server is None:
        return None
    line_read = " ".join(lines[candidate.line - 1][0].split())
    notes.left_out = [text for text in notes.left_out if text != line_read]
    listing_notes.left_out.clear()
    notes.take(listing_notes)
    return candidate


def read_words(words: Sequence[Arg], variables: Variables, notes: Notes) -> Candidate | None:
    """Return the server in the words of one command, including a `bash -c` script."""
    return _read_inner(in_words(words, notes), words, variables, notes, 0)


def _read_text(text: str, variables: Variables, notes: Notes) -> Candidate | None:
    selected: Candidate | None = None
    containers: list[Candidate] = []
    if looks_like_manifest(text):
        containers = [in_container(container, notes) for container in read_manifest(text, variables, notes)]
        with_scripts = [
            _read_inner(candidate, candidate.container.args, variables, notes, 0)
            for candidate in containers
            if candidate.container
        ]
        selected = _choose(with_scripts, notes)
    if selected and selected.server:
        check_length(len(selected.server.args))
        return selected
    texts = read_yaml_commands(text) or [YamlCommand(block, {}) for block in read_folded_blocks(text)]
    if in_yaml := _read_yaml(texts, variables, notes):
        return _within(in_yaml, containers, notes)
    return selected or ScriptReader(variables, notes).read(join_lost_lines(text, takes_of, notes))


def check_length(count: int) -> None:
    """Refuse a server's command of more words than are read; raises PasteRefusedError."""
    if count > MOST_WORDS:
        raise PasteRefusedError(
            f"The server's command has {count} words, and at most {MOST_WORDS} are read: no server takes more."
        )


def _read_yaml(commands: Sequence[YamlCommand], variables: Variables, notes: Notes) -> Candidate | None:
    """The first server in the texts of a YAML file, with the variables that the file gives it."""
    readings: list[tuple[Candidate, Notes]] = []
    for command in commands:
        text_notes = Notes()
        inner_variables = variables.copy(text_notes)
        for name, value in command.env.items():
            inner_variables.set_state(name, State(value, exported=value))
        candidate = ScriptReader(inner_variables, text_notes).read(join_lost_lines(command.text, takes_of, text_notes))
        if candidate and candidate.server:
            readings.append((candidate, text_notes))
    if not readings:
        return None
    first, first_notes = readings[0]
    notes.take(first_notes)
    if len(readings) > 1:
        notes.add(notes.warnings, f"{len(readings)} servers are in this paste; the first one is used")
    return first


def _within(candidate: Candidate, containers: Sequence[Candidate], notes: Notes) -> Candidate:
    """The server of a file in a manifest, within the only container of the manifest, whose program starts it."""
    outer = containers[0].container if len(containers) == 1 else None
    if outer is None or candidate.container:
        return candidate
    notes.add(notes.warnings, f"the program of the container {outer.image} starts the server, not Pitwall")
    candidate.container = replace(outer, ports=[])  # published are the ports of that program
    candidate.launcher, candidate.argv = outer.launcher, []
    candidate.env = outer.env | candidate.env
    return candidate


def _choose(candidates: Sequence[Candidate | None], notes: Notes) -> Candidate | None:
    candidates_found = [candidate for candidate in candidates if candidate]
    servers = [candidate for candidate in candidates_found if candidate.server]
    # A container without arguments is no server of its own beside one that has some (Dynamo's frontend).
    servers = [candidate for candidate in servers if candidate.server and candidate.server.args] or servers
    if len(servers) > 1:
        notes.add(notes.warnings, f"{len(servers)} servers are in this paste; the first one is used")
    return next(iter(servers or candidates_found), None)


def _read_inner(
    candidate: Candidate | None, words: Sequence[Arg], variables: Variables, notes: Notes, depth: int
) -> Candidate | None:
    """The candidate, with the server of its `bash -c` script, if any."""
    script = unread_script(candidate, words)
    if script is None or depth >= MAX_SCRIPT_DEPTH:
        return candidate
    inner_variables = variables.copy(notes)
    inner_variables.values |= {
        name: value for name, value in (candidate.env if candidate else {}).items() if "$" not in value
    }
    if candidate and candidate.container:
        inner_variables.files.mount(candidate.container.volumes, variables)
    body, heredocs = take_heredocs(script, must_close=True)
    inner_variables.files.add_heredocs(heredocs)
    inner = ScriptReader(inner_variables, notes, depth + 1).read(body)
    if not inner or not inner.server:
        return candidate
    env = (candidate.env if candidate else {}) | inner_variables.exported | inner.env
    if candidate is None:
        inner.env = env
        return inner
    candidate.server, candidate.env = inner.server, env
    candidate.launcher_flags += inner.launcher_flags
    candidate.truncation = inner.truncation
    return candidate


def _names_set(builtin: str, words: Sequence[str]) -> list[str]:
    """The variables that `read`, `mapfile` or `getopts` sets."""
    if builtin == "getopts":
        return list(words[1:2])
    return [word for word in words if _NAME.fullmatch(word)]


class ScriptReader:
    """Searches a script's commands for the first server; everything else is listed as left out."""

    def __init__(
        self, variables: Variables, notes: Notes, depth: int = 0, functions: Functions | None = None, calls: int = 0
    ) -> None:
        self.variables, self.notes, self.depth = variables, notes, depth
        self.candidate: Candidate | None = None
        self.local_names: set[str] = set()  # of the function whose body is read
        self._functions = functions or Functions()
        self._call_depth = calls
        self._unknown: Candidate | None = None
        self._end = ""  # the line that ends the script before a server was found
        self._text = ""
        self._tail_span: tuple[int, int] | None = None  # the rest of the server's line
        self._flow = ControlFlow(variables, "")

    def read(self, text: str) -> Candidate | None:
        """Return the first server, else the first container with an unknown engine."""
        self._text, self._flow = text, ControlFlow(self.variables, text)
        for command in split_script(text, self.notes):
            if self._tail_span and command.preceding_operator in ("\n", ""):
                self._flush_tail()
            self._read_command(command)
        self._flush_tail()
        self._functions.finish(text)
        self._flow.finish()
        if self._call_depth == 0:
            self._read_uncalled()
            for definition in self._functions.definitions.values():
                leave_out(self.notes, definition)
        return self.candidate or self._unknown

    def _read_uncalled(self) -> None:
        """Search the functions that the script does not call."""
        server_count = 0
        for name in list(self._functions.bodies):
            if server_count:
                server_count += self._starts_server(name)
            elif self.candidate is None:
                definition = self._functions.definitions.get(name)
                self._call(name, [])
                if self.candidate is None and definition:
                    self._functions.definitions[name] = definition
                server_count = int(self.candidate is not None)
        if server_count > 1:
            self.notes.add(self.notes.warnings, f"{server_count} servers are in this paste; the first one is used")

    def _starts_server(self, name: str) -> bool:
        """Return whether a function starts a server, too."""
        notes = Notes()
        reader = ScriptReader(self.variables.copy(notes), notes, self.depth, self._functions, MAX_CALL_DEPTH)
        return reader.read(self._functions.bodies[name]) is not None and reader.candidate is not None

    def _read_command(self, command: Command) -> None:
        if self._functions.takes(command, self._text):
            return
        words = self._flow.enter(command)
        if command.array:
            name, items = command.array
            self._note_local(words, name)
            self.variables.assign_array(name, self._braces_of(items)[0])
        assignments: list[tuple[str, Word]] = []
        while words and (assignment := words[0].assignment):
            assignments.append(assignment)
            words = words[1:]
        if len(words) > MOST_WORDS:
            self._refuse_length(words)
            self._leave_out(command)
        elif words:
            line = self._text[command.start : command.end]
            self.variables.files.follow(command, line, self.variables, self._flow.is_unconditional)
            if not self._run_builtin(command, words):
                self._read_words(command, words, assignments)
        elif not self.candidate:
            for name, value in assignments:
                self.variables.assign(name, value)
                self._read_substitution(command, value)
        self._note_end(command, words)
        self._flow.leave(command, words)

    def _read_substitution(self, command: Command, value: Word) -> None:
        """Read the server that a script starts to keep its output: `ID=$(docker run -d …)`."""
        parts = [part.text for part in value.parts if part.text]
        match = _SUBSTITUTION.fullmatch(parts[0]) if len(parts) == 1 else None
        if match is None or self.candidate or self.depth >= MAX_SCRIPT_DEPTH:
            return
        inner_notes = Notes()
        inner = ScriptReader(self.variables.copy(inner_notes), inner_notes, self.depth + 1).read(match[1])
        if inner and inner.server:
            self._accept(inner, command, inner_notes)

    def _note_end(self, command: Command, words: Sequence[Word]) -> None:
        """Remember that the script ends here, whatever its conditions are."""
        is_end = bool(words) and words[0].text == "exit" and command.preceding_operator in ("", "\n", ";")
        if is_end and not self.candidate and self._flow.is_unconditional:
            self._end = self._end or f"line {command.line} (`{' '.join(word.text for word in words[:2])}`)"

    def _refuse_length(self, words: Sequence[Word]) -> None:
        """Refuse a server's command with more words than are read; raises PasteRefusedError."""
        first_args = self.variables.expand_words(words[:MOST_WORDS])
        candidate = None if self.candidate else in_words(first_args, Notes())
        if candidate and candidate.server:
            check_length(len(words))

    def _run_builtin(self, command: Command, words: Sequence[Word]) -> bool:
        """Run a command of the shell itself that sets variables; False for any other command."""
        name = words[0].text
        if name in EXPORTS:
            if not self.candidate:
                self._declare(words)
            return True
        if self.candidate or name not in _SETTERS:
            call = name in self._functions.bodies and not self.candidate
            if call:
                self._call(name, [word.text for word in self.variables.expand_words(words[1:])])
            return call
        if name == ":":
            for word in words[1:]:
                self.variables.assign_default(word)
        elif name == "unset":
            for word in words[1:]:
                self.variables.set_state(word.text, State())
        else:
            for variable in _names_set(name, [word.text for word in words[1:]]):
                self.variables.forget(variable, "read when the script runs")
        self._leave_out(command)
        return True

    def _declare(self, words: Sequence[Word]) -> None:
        options = "".join(word.text for word in words[1:] if word.text.startswith("-"))
        if words[0].text == "set":
            self.variables.exports_all |= any(_ALL_EXPORT.fullmatch(word.text) for word in words)
            self.variables.exports_all &= not any(word.text == "+a" for word in words)
            return
        is_exported = words[0].text == "export" or "x" in options
        for word in words[1:]:
            assignment = word.assignment
            if not assignment and (word.text.startswith("-") or not is_exported):
                continue
            name, value = assignment or (word.text, None)
            self._note_local(words, name)
            if is_exported:
                self.variables.export(name, value)
            elif value is not None:
                self.variables.assign(name, value)

    def _note_local(self, words: Sequence[Word], name: str) -> None:
        if words and words[0].text in _LOCAL:
            self.local_names.add(name)

    def _call(self, name: str, args: Sequence[str]) -> None:
        """Read the body of a function as a call of it does."""
        functions = self._functions
        if self._call_depth >= MAX_CALL_DEPTH or functions.calls >= MOST_CALLS:
            return
        functions.calls += 1
        functions.definitions.pop(name, None)
        record = self.variables.begin_record()
        self.variables.set_state(PARAMETERS, State(items=tuple(args)) if args else State())
        for number in range(1, 10):
            self.variables.set_text(str(number), args[number - 1] if number <= len(args) else None)
        reader = ScriptReader(self.variables, self.notes, self.depth, functions, self._call_depth + 1)
        candidate = reader.read(functions.bodies[name])
        hidden = reader.local_names | {PARAMETERS, *map(str, range(1, 10))}
        for variable, state in self.variables.end_record(record).items():
            if variable not in hidden:
                self.variables.set_state(variable, state)
        if reader.candidate:
            self.candidate = reader.candidate
        else:
            self._unknown = self._unknown or candidate

    def _read_words(self, command: Command, words: Sequence[Word], assignments: Sequence[tuple[str, Word]]) -> None:
        outer_notes, command_notes = self.variables.notes, Notes()
        self.variables.notes = command_notes
        record = self.variables.begin_record()
        for name, value in assignments:
            self.variables.assign(name, value)
            self.variables.note_references(name)
        words, obstacle = self._braces_of(words)
        args = self.variables.expand_words(words)
        candidate = _read_inner(in_words(args, command_notes), args, self.variables, command_notes, self.depth)
        self.variables.notes = outer_notes
        states = self.variables.end_record(record)
        if candidate and not self.candidate and candidate.server:
            for name, state in states.items():
                self.variables.set_state(name, state)
            candidate.env = {name: value.text for name, value in assignments} | candidate.env
            self._accept(candidate, command, command_notes)
            if obstacle:
                candidate.truncation = candidate.truncation or f"Line {command.line}: {obstacle}"
            return
        if candidate and candidate.server:
            self.notes.add(self.notes.warnings, "this paste has two server commands; the first one is used")
        self._unknown = self._unknown or candidate
        self._leave_out(command)

    def _braces_of(self, words: Sequence[Word]) -> tuple[Sequence[Word], str | None]:
        """The words with braces expanded; unchanged, with the reason, if there would be too many."""
        try:
            return self.variables.braces.expand(words), None
        except TooManyWordsError as error:
            return words, f"{error}: write them out."

    def _accept(self, candidate: Candidate, command: Command, command_notes: Notes) -> None:
        self.candidate = candidate
        candidate.line = command.line
        candidate.env = self.variables.exported | candidate.env
        for text in self.variables.environment_notes(candidate.env):
            self.notes.add(self.notes.warnings, text)
        self.notes.take(command_notes)
        if self._end:
            self.notes.add(self.notes.warnings, f"the script ends in {self._end}, before it starts the server")
        if loop := self._flow.loop_head:
            self.notes.add(
                self.notes.warnings,
                f"the command stands in the loop `{loop}`: it may start several servers, and the first is read",
            )
        for redirection in command.redirections:
            leave_out(self.notes, redirection)
        if quote := command.unclosed_quote:
            last = command.words[-1].text if command.words else ""
            opening = f"The {quote.quote} quote opened in line {quote.line} at {last}"
            candidate.truncation = f"{opening} is never closed, so the rest cannot be read."
            if candidate.server and candidate.server.args[-1:] == [last]:
                candidate.server.args.pop()

    def _leave_out(self, command: Command) -> None:
        if self.candidate and command.preceding_operator not in ("\n", ""):
            start = (
                self._tail_span[0]
                if self._tail_span
                else command.start - (len(command.preceding_operator) if "|" in command.preceding_operator else 0)
            )
            self._tail_span = (start, command.end)
        else:
            leave_out(self.notes, self._text[command.start : command.end])

    def _flush_tail(self) -> None:
        if self._tail_span:
            leave_out(self.notes, self._text[slice(*self._tail_span)])
            self._tail_span = None
