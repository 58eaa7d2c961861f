"""Finds the server command in a cleaned paste: tries shell text, heredocs and manifests, the most likely first."""

from __future__ import annotations

from collections.abc import Sequence

from commands.paste.braces import TooManyWordsError
from commands.paste.candidates import Candidate, in_container, in_words, script_of
from commands.paste.cleaning import clean, join_lost_lines, uncomment
from commands.paste.manifests import looks_like_manifest, read_manifest
from commands.paste.notes import Notes
from commands.paste.script import leave_out, only_servers, split_script, take_heredocs
from commands.paste.servers import takes_of
from commands.paste.shell import Command, Word
from commands.paste.variables import Arg, Variables

DEEPEST_SCRIPT = 4  # bash -c within bash -c
MOST_WORDS = 5000  # a command with more launches nothing
RESERVED = frozenset({"{", "if", "then", "else", "elif", "do", "while", "until", "!", "eval"})
CONDITIONS = frozenset({"[", "[[", "test", "(("})
EXPORTS = frozenset({"export", "declare", "typeset", "local", "readonly", "set"})


def find_candidate(text: str, notes: Notes) -> tuple[Candidate | None, Variables]:
    """The server command of a paste and the variables that it assigns; raises PasteRefusedError if it is empty."""
    cleaned = clean(text, notes)
    body, heredocs = take_heredocs(cleaned)
    variables = Variables(notes)
    unknown: Candidate | None = None
    for attempt in dict.fromkeys((body, *heredocs, uncomment(body), only_servers(body))):
        found = _read_text(attempt, variables, notes)
        if found and found.server:
            if heredocs and attempt is body:
                notes.add(notes.left_out, "the text of a heredoc")
            return found, variables
        unknown = unknown or found
    return unknown, variables


def read_words(words: Sequence[Arg], variables: Variables, notes: Notes) -> Candidate | None:
    """The server in the words of one command, that of a `bash -c` script in them included."""
    return _read_inner(in_words(words, notes), words, variables, notes, 0)


def _read_text(text: str, variables: Variables, notes: Notes) -> Candidate | None:
    if looks_like_manifest(text):
        containers = [in_container(found, notes) for found in read_manifest(text, variables, notes)]
        with_scripts = [
            _read_inner(found, found.container.args, variables, notes, 0) for found in containers if found.container
        ]
        found = _choose(with_scripts, notes)
        if found:
            return found
    return ScriptReader(variables, notes).read(join_lost_lines(text, takes_of, notes))


def _choose(candidates: Sequence[Candidate | None], notes: Notes) -> Candidate | None:
    found = [candidate for candidate in candidates if candidate]
    servers = [candidate for candidate in found if candidate.server]
    if len(servers) > 1:
        notes.add(notes.warnings, f"{len(servers)} servers stand in this paste; the first one is read")
    return next(iter(servers or found), None)


def _read_inner(
    candidate: Candidate | None, words: Sequence[Arg], variables: Variables, notes: Notes, depth: int
) -> Candidate | None:
    """With the server of a `bash -c` script put in, where there is one."""
    script = script_of(candidate, words)
    if script is None or depth >= DEEPEST_SCRIPT:
        return candidate
    inner_variables = Variables(
        notes, dict(variables.values), dict(variables.arrays), braces=variables.braces, secrets=variables.secrets
    )
    inner_variables.values |= {
        name: value for name, value in (candidate.env if candidate else {}).items() if "$" not in value
    }
    inner = ScriptReader(inner_variables, notes, depth + 1).read(script)
    if not inner or not inner.server:
        return candidate
    env = (candidate.env if candidate else {}) | inner_variables.exported | inner.env
    if candidate is None:
        inner.env = env
        return inner
    candidate.server, candidate.env = inner.server, env
    candidate.launcher_flags += inner.launcher_flags
    candidate.torn = inner.torn
    return candidate


class ScriptReader:
    """Walks a script's commands for the first server; what else it meets is named as left out."""

    def __init__(self, variables: Variables, notes: Notes, depth: int = 0) -> None:
        self.variables, self.notes, self.depth = variables, notes, depth
        self.found: Candidate | None = None
        self._unknown: Candidate | None = None
        self._text = ""
        self._tail: tuple[int, int] | None = None  # what follows the server on its own line
        self._open_blocks = 0  # of `if`
        self._was_condition = False  # the command before it was

    def read(self, text: str) -> Candidate | None:
        """The first server, else the first container of an engine that is not known."""
        self._text = text
        for command in split_script(text, self.notes):
            if self._tail and command.follows in ("\n", ""):
                self._flush_tail()
            self._take(command)
        self._flush_tail()
        return self.found or self._unknown

    def _take(self, command: Command) -> None:
        is_conditional = self._is_conditional(command)
        if command.array:
            self._assign_array(*command.array, is_conditional)
        words = command.words
        while words and words[0].text in RESERVED:
            words = words[1:]
        assignments: list[tuple[str, Word]] = []
        while words and (assignment := words[0].assignment):
            assignments.append(assignment)
            words = words[1:]
        if words and words[0].text in EXPORTS:
            self._export(words)
        elif len(words) > MOST_WORDS:
            self._leave_out(command)
        elif words:
            self._take_words(command, words, assignments)
        elif not self.found:
            for name, value in assignments:
                self.variables.assign(name, value)
        if words and words[0].text == ":" and not self.found:
            for word in words[1:]:
                self.variables.assign_default(word)

    def _is_conditional(self, command: Command) -> bool:
        """Whether only a shell can tell if this command is run: `[[ ... ]] && it`, or within `if`."""
        first = next((word.text for word in command.words if word.text not in RESERVED), "")
        opening = next((word.text for word in command.words), "")
        self._open_blocks = max(0, self._open_blocks + (opening == "if") - (opening == "fi"))
        after_condition = self._was_condition and command.follows in ("&&", "||")
        self._was_condition = first in CONDITIONS or after_condition
        return after_condition or self._open_blocks > 0

    def _assign_array(self, name: str, words: Sequence[Word], is_conditional: bool) -> None:
        if is_conditional:
            self.variables.forget(name)
        else:
            words, _ = self._braces_of(words)
            self.variables.arrays[name] = [word.text for word in self.variables.expand_words(words)]
            self.variables.unknown_arrays.discard(name)

    def _export(self, words: Sequence[Word]) -> None:
        if self.found:
            return
        for word in words[1:]:
            assignment = word.assignment
            if assignment:
                self.variables.export(*assignment)
            elif not word.text.startswith("-"):
                self.variables.export(word.text, None)

    def _take_words(self, command: Command, words: Sequence[Word], assignments: Sequence[tuple[str, Word]]) -> None:
        noted, own = self.variables.notes, Notes()
        self.variables.notes = own
        before = dict(self.variables.values)
        for name, value in assignments:
            self.variables.assign(name, value)
        words, obstacle = self._braces_of(words)
        args = self.variables.expand_words(words)
        candidate = _read_inner(in_words(args, own), args, self.variables, own, self.depth)
        self.variables.notes = noted
        if candidate and not self.found and candidate.server:
            candidate.env = {name: value.text for name, value in assignments} | candidate.env
            self._accept(candidate, command, own)
            if obstacle:
                candidate.torn = candidate.torn or f"Line {command.line}: {obstacle}"
            return
        self.variables.values = before
        if candidate and candidate.server:
            self.notes.add(self.notes.warnings, "two server commands stand in this paste; the first one is read")
        self._unknown = self._unknown or candidate
        self._leave_out(command)

    def _braces_of(self, words: Sequence[Word]) -> tuple[Sequence[Word], str | None]:
        """The words with their braces written out; as they are, and why, where these stand for too many."""
        try:
            return self.variables.braces.expand(words), None
        except TooManyWordsError as error:
            return words, f"{error}: please write out the ones that are meant."

    def _accept(self, candidate: Candidate, command: Command, own: Notes) -> None:
        self.found = candidate
        candidate.env = self.variables.exported | candidate.env
        for kind in ("left_out", "repaired", "unresolved", "warnings"):
            for text in getattr(own, kind):
                self.notes.add(getattr(self.notes, kind), text)
        for redirection in command.redirections:
            leave_out(self.notes, redirection)
        if command.torn:
            last = command.words[-1].text if command.words else ""
            candidate.torn = (
                f"A {command.torn.quote} quote that opens in line {command.torn.line} at {last} is never closed: "
                "what follows it cannot be read."
            )
            if candidate.server and candidate.server.args[-1:] == [last]:
                candidate.server.args.pop()

    def _leave_out(self, command: Command) -> None:
        if self.found and command.follows not in ("\n", ""):
            start = (
                self._tail[0] if self._tail else command.start - (len(command.follows) if "|" in command.follows else 0)
            )
            self._tail = (start, command.end)
        else:
            leave_out(self.notes, self._text[command.start : command.end])

    def _flush_tail(self) -> None:
        if self._tail:
            leave_out(self.notes, self._text[slice(*self._tail)])
            self._tail = None
