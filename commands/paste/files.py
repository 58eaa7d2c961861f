"""Files that a pasted script writes before it starts the server: heredocs, `printf` and `echo` into a file, `tee`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from commands.paste.ansi_c import read_ansi_c
from commands.paste.notes import Notes
from commands.paste.shell import Command, Word
from commands.quoting import without_marks

MAX_FILE = 100_000  # characters
MOST_FILES = 20
MOST_HEREDOCS = 50
HEREDOC_NOTE = "the text of a heredoc"
_HEREDOC = re.compile(r"(?<!<)<<(?!<)(?P<dash>-?)[ \t]*(?P<quote>['\"\\]?)(?P<end>\w+)['\"]?[^\n]*\n")
_TARGET = re.compile(r"1?(>>|>\|?)\s+(\S.*)", re.DOTALL)
_PRINTED_FILE = re.compile(r"\$\((?:cat[ \t]+|<[ \t]*)[\"']?(?P<path>[\w./~-]{1,300})[\"']?\)")
MAX_PRINTED = 4000  # characters of a file that is a value
_ESCAPED = re.compile(r"\\([\\$`])")
_FORMAT = re.compile(r"%(?:s|b|d|%)")


class Expander(Protocol):
    """The variables, as far as the text of a file needs them."""

    notes: Notes

    def expand(self, word: Word) -> str:
        """Return the expanded word as one text."""
        ...

    def expand_text(self, text: str) -> str:
        """Return a text with its references expanded."""
        ...


class Heredoc(NamedTuple):
    """The text of a heredoc; a quoted delimiter keeps its references."""

    delimiter: str
    is_quoted: bool
    body: str

    @property
    def script(self) -> str:
        """The text as a script of its own: without a quoted delimiter `\\\\` stands for a backslash, `\\$` for `$`."""
        return self.body if self.is_quoted else _ESCAPED.sub(r"\1", self.body)


@dataclass
class WrittenFiles:
    """The texts of the files that a script wrote so far, by path."""

    heredocs: list[Heredoc] = field(default_factory=list)  # in order, until their commands are read
    texts: dict[str, str] = field(default_factory=dict)
    commands: dict[str, list[str]] = field(default_factory=dict)  # that wrote a file, as one line each
    notes: dict[str, Notes] = field(default_factory=dict)  # on the references in a file
    conditional: set[str] = field(default_factory=set)  # paths that a condition or a loop decides
    earlier_texts: dict[str, list[str]] = field(default_factory=dict)  # that a condition replaced or completed
    unread_heredocs: int = 0
    _heredocs_of: dict[str, int] = field(default_factory=dict)
    _piped: str | None = None  # the output of the command before a pipe
    _piped_heredoc: Heredoc | None = None

    def add_heredocs(self, heredocs: Sequence[Heredoc]) -> None:
        """Take heredocs whose commands are read next."""
        self.heredocs += heredocs
        self.unread_heredocs += len(heredocs)

    def add(self, path: str, text: str) -> None:
        """Take a file that comes with the paste."""
        if len(self.texts) < MOST_FILES:
            self.texts[_normal(path)] = text[:MAX_FILE]

    def printed(self, substitution: str) -> str | None:
        """Return what `$(cat FILE)` or `$(<FILE)` prints, if the script writes the file whatever its conditions are."""
        match = _PRINTED_FILE.fullmatch(substitution)
        path = _normal(match["path"]) if match else ""
        text = self.texts.get(path) if path not in self.conditional else None
        return text.rstrip("\n") if text is not None and len(text) <= MAX_PRINTED else None

    def mount(self, volumes: Sequence[str], variables: Expander) -> None:
        """Give the files that a container mounts their paths within it."""
        outer_notes, variables.notes = variables.notes, Notes()
        for volume in volumes:
            host, _, rest = volume.partition(":")
            path, target = _normal(variables.expand_text(host)), rest.partition(":")[0]
            if path in self.texts and path not in self.conditional and target not in self.texts:
                self.add(target, self.texts[path])
        variables.notes = outer_notes

    def follow(self, command: Command, line: str, variables: Expander, is_certain: bool = True) -> None:
        """Store what a command writes into a file; what its text needs is noted when the file is read.

        `is_certain`: no condition of the script decides whether it does.
        """
        outer_notes, variables.notes = variables.notes, Notes()
        texts_before = dict(self.texts)
        path = self._follow(command, line, variables)
        if path is not None and not is_certain:
            self.conditional.add(path)
            self.earlier_texts.setdefault(path, []).extend(
                texts_before[name] for name in [path] if name in texts_before
            )
        if path is not None:
            self.notes.setdefault(path, Notes()).take(variables.notes)
        variables.notes = outer_notes

    def notes_of(self, text: str) -> Notes:
        """Return the notes on the references in the file of this text."""
        return next((self.notes[path] for path in self.notes if self.texts.get(path) == text), Notes())

    def other_texts(self, text: str) -> list[str] | None:
        """Return what else the file of this text may hold; None if no condition of the script decides it."""
        path = next((path for path in self.conditional if self.texts.get(path) == text), None)
        return None if path is None else self.earlier_texts[path]

    def _follow(self, command: Command, line: str, variables: Expander) -> str | None:
        heredoc = self._heredoc_of(command) or (self._piped_heredoc if command.preceding_operator == "|" else None)
        path, is_appended = _target(command, variables)
        is_piped = command.ends_with == "|"
        text = self._output(command, heredoc, variables) if path or is_piped else None
        self._piped, self._piped_heredoc = (text, heredoc) if is_piped else (None, None)
        if path is None or text is None or len(self.texts) >= MOST_FILES:
            return None
        before = self.texts.get(path, "") if is_appended else ""
        self.texts[path] = (before + text)[:MAX_FILE]
        self.commands.setdefault(path, []).append(" ".join(line.split()))
        self._heredocs_of[path] = self._heredocs_of.get(path, 0) + (heredoc is not None)
        return path

    def read(self, path: str, volumes: Sequence[str] = ()) -> str | None:
        """Return the text of a file under its path, also within a container; None if the script does not write it."""
        names = [_normal(path), *_outside(path, volumes)]
        name = next((name for name in names if name in self.texts), None)
        if name is None:
            same = [key for key in self.texts if key.rpartition("/")[2] == names[0].rpartition("/")[2]]
            name = same[0] if len(same) == 1 else None
        if name is None:
            return None
        self.unread_heredocs -= self._heredocs_of.pop(name, 0)
        return self.texts[name]

    def lines_of(self, text: str) -> list[str]:
        """Return the commands that wrote this text."""
        return [line for path, lines in self.commands.items() if self.texts[path] == text for line in lines]

    def _heredoc_of(self, command: Command) -> Heredoc | None:
        target = next((text for text in command.redirections if text.startswith("<<") and text[:3] != "<<<"), None)
        if target is None:
            return None
        delimiter = target.lstrip("<-").strip()
        at = next((i for i, heredoc in enumerate(self.heredocs) if heredoc.delimiter == delimiter), None)
        return None if at is None else self.heredocs.pop(at)

    def _output(self, command: Command, heredoc: Heredoc | None, variables: Expander) -> str | None:
        words = command.words
        while words and words[0].text in ("sudo", "then", "do", "else", "{"):
            words = words[1:]
        name = words[0].text if words else ""
        if name in ("cat", "tee") and heredoc:
            return heredoc.body if heredoc.is_quoted else variables.expand_text(heredoc.body)
        if name == "tee" or (name == "cat" and self._piped is not None):
            return self._piped
        texts = [without_marks(variables.expand(word)) for word in words[1:]]
        if name == "echo":
            return _echo(texts)
        return _printf(texts) if name == "printf" and texts else None


def _target(command: Command, variables: Expander) -> tuple[str | None, bool]:
    """The file that a command writes, and whether it appends."""
    matches = [match for text in command.redirections if (match := _TARGET.fullmatch(text))]
    texts = [word.text for word in command.words]
    if matches:
        return _normal(variables.expand_text(matches[-1][2])), matches[-1][1] == ">>"
    if "tee" in texts[:2]:
        names = [variables.expand(word) for word in command.words[texts.index("tee") + 1 :]]
        return next((_normal(name) for name in names if not name.startswith("-")), None), "-a" in names
    return None, False


def _echo(texts: Sequence[str]) -> str:
    options = [text for text in texts[:1] if re.fullmatch(r"-[neE]+", text)]
    body = " ".join(texts[len(options) :])
    is_escaped = any("e" in option for option in options)
    return (read_ansi_c(body) if is_escaped else body) + ("" if any("n" in option for option in options) else "\n")


def _printf(texts: Sequence[str]) -> str:
    """The text of `printf FORMAT words`; the format is repeated while words are left."""
    form, values = read_ansi_c(texts[0]), list(texts[1:])
    places = len([match for match in _FORMAT.findall(form) if match != "%%"])
    parts: list[str] = []
    for start in range(0, max(1, len(values)), places or max(1, len(values))):
        pending = iter(values[start : start + places])
        parts.append(_FORMAT.sub(lambda match, rest=pending: "%" if match[0] == "%%" else next(rest, ""), form))  # type: ignore[misc]
    return "".join(parts)


def _normal(path: str) -> str:
    return path.strip("\"'").removeprefix("./")


def _outside(path: str, volumes: Sequence[str]) -> list[str]:
    """The paths on the host of a path in a container."""
    paths = []
    for volume in volumes:
        host, _, rest = volume.partition(":")
        target = rest.partition(":")[0].rstrip("/")
        if target and (path == target or path.startswith(target + "/")):
            paths.append(_normal(host + path[len(target) :]))
    return paths


def take_heredocs(text: str, must_close: bool = False) -> tuple[str, list[Heredoc]]:
    """Split a text into the text without heredoc bodies, and the heredocs; the last may lack its end."""
    outer_parts, heredocs, position = [], [], 0
    for _ in range(MOST_HEREDOCS):
        opening = _HEREDOC.search(text, position)
        if not opening:
            break
        closing = re.compile(rf"^[ \t]*{opening['end']}[ \t]*$", re.MULTILINE).search(text, opening.end())
        outer_parts.append(text[position : opening.end()])
        if must_close and not closing:
            position = opening.end()
            continue
        body = text[opening.end() : closing.start() if closing else len(text)]
        if opening["dash"]:
            body = re.sub(r"^\t+", "", body, flags=re.MULTILINE)
        heredocs.append(Heredoc(opening["end"], bool(opening["quote"]), body))
        position = closing.end() if closing else len(text)
    return "".join(outer_parts) + text[position:], heredocs
