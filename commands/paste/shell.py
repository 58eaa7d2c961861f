"""A lexer for POSIX shell words: it reads quotes, escapes, references, operators and redirections and runs nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from commands.paste.ansi_c import ANSI_C, read_ansi_c
from commands.paste.references import reference_end
from commands.quoting import WordBuilder
from errors import PitwallError

_PLAIN = re.compile(r"[^ \t\n\v\f\\'\"$`;&|<>()#]+")
_IN_DOUBLE = re.compile(r"[^\\\"$`]+")
_OPERATOR = re.compile(r"&&|\|\||;;|\|&|[;&|()]")
_REDIRECT = re.compile(r"&>>?|<<<|<<-?|>>|>&|<&|>\||<>|<\(|>\(|[<>]")
_PLACEHOLDER = re.compile(r"<[A-Za-z][\w ./:-]{0,60}>")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")


class UnclosedQuoteError(PitwallError):
    """A quote that never ends; `command` holds the words before it, `line` is where it opens."""

    def __init__(self, quote: str, command: Command, line: int, position: int) -> None:
        super().__init__(quote)
        self.quote, self.command, self.line, self.position = quote, command, line, position


class Part(NamedTuple):
    """A piece of a word: text, or a reference as it was written ('$PORT', '${X:-d}', '$(date)')."""

    text: str
    is_reference: bool = False
    is_quoted: bool = False


@dataclass(frozen=True)
class Word:
    """A shell word after quote removal."""

    parts: tuple[Part, ...]

    @cached_property
    def text(self) -> str:
        """The word with its references as written; a quoted `$` or `~` is marked (`commands.quoting`)."""
        return self.filled_in(lambda part: part.text)

    def filled_in(self, read: Callable[[Part], str]) -> str:
        """The word with what `read` makes of its references."""
        builder = WordBuilder()
        for part in self.parts:
            if part.is_reference:
                builder.add_word(read(part), part.is_quoted)
            elif part.is_quoted:
                builder.add_literal(part.text)
            else:
                builder.add_plain(part.text)
        return builder.text

    @property
    def assignment(self) -> tuple[str, Word] | None:
        """Name and value of 'NAME=value'; of 'NAME+=value' with what NAME holds in front."""
        first = self.parts[0] if self.parts else None
        match = _ASSIGNMENT.match(first.text) if first and not first.is_quoted and not first.is_reference else None
        if not first or not match:
            return None
        rest = first.text[match.end() :]
        before = (Part(f"${{{match[1]}:-}}", is_reference=True, is_quoted=True),) if match[2] else ()
        return match[1], Word(before + ((Part(rest),) if rest else ()) + self.parts[1:])


def literal(text: str) -> Word:
    """A word of plain text."""
    return Word((Part(text, is_quoted=True),))


@dataclass(slots=True)
class Command:
    """One simple command: its words, what was redirected, the array it assigns, the operator that ends it."""

    line: int
    start: int
    end: int = 0
    words: list[Word] = field(default_factory=list)
    redirections: list[str] = field(default_factory=list)
    array: tuple[str, list[Word]] | None = None  # NAME=(...); NAME+=(...) starts with the old array
    ends_with: str = ""
    torn: UnclosedQuoteError | None = None  # why its words end too early
    follows: str = ""  # the operator before it


class Lexer:
    """Reads one physical line of a script, and as many more as its quotes and backslashes need."""

    def __init__(self, text: str, position: int, line: int) -> None:
        self.text, self.position, self.line = text, position, line

    def commands(self) -> Iterator[Command]:
        """The simple commands up to the end of the line; raises UnclosedQuoteError."""
        follows = ""
        while True:
            command = Command(self.line, self.position, follows=follows)
            self._read(command)
            yield command
            follows = command.ends_with
            if follows in ("\n", ""):
                return

    def _read(self, command: Command) -> None:
        while True:
            self._skip_blanks()
            command.end = self.position
            char = self._peek()
            if char in ("", "\n"):
                self.position += len(char)
                self.line += len(char)
                command.ends_with = char
                return
            if char == "#":
                self.position = self._find("\n", self.position)
            elif (redirect := _REDIRECT.match(self.text, self.position)) and not self._placeholder():
                self._redirect(command, redirect)
            elif operator := _OPERATOR.match(self.text, self.position):
                self.position = operator.end()
                command.ends_with = operator[0]
                return
            else:
                self._take_word(command)

    def _take_word(self, command: Command) -> None:
        start = self.position
        word = self._word(command)
        following = _REDIRECT.match(self.text, self.position)
        if following and self.text[start : self.position].isdigit() and not self._placeholder():  # 2>&1
            self._redirect(command, following, word.text)
        elif self._peek() == "(" and not command.words and (opening := _ASSIGNMENT.fullmatch(word.text)):
            self.position += 1
            old = [Word((Part(f"${{{opening[1]}[@]}}", is_reference=True),))] if opening[2] else []
            command.array = (opening[1], old + self._array(command))
        else:
            command.words.append(word)

    def _array(self, command: Command) -> list[Word]:
        items: list[Word] = []
        while True:
            self._skip_blanks()
            char = self._peek()
            if char == "\n":
                self.position += 1
                self.line += 1
            elif char == "#":
                self.position = self._find("\n", self.position)
            elif char in ("", ")"):
                self.position += len(char)
                return items
            elif _OPERATOR.match(self.text, self.position) or _REDIRECT.match(self.text, self.position):
                self.position += 1
            else:
                items.append(self._word(command))

    def _redirect(self, command: Command, match: re.Match[str], descriptor: str = "") -> None:
        self.position = match.end()
        self._skip_blanks()
        target = self._word(command).text if self._peek() not in ("", "\n", *"<>;&|()") else ""
        command.redirections.append(f"{descriptor}{match[0]}{'' if '&' in match[0] else ' '}{target}".strip())

    def _skip_blanks(self) -> None:
        while True:
            char = self._peek()
            if char in (" ", "\t", "\v", "\f"):
                self.position += 1
            elif self.text.startswith("\\\n", self.position):
                self.position += 2
                self.line += 1
            elif char == "\\" and self.position + 1 >= len(self.text):
                self.position += 1
            else:
                return

    def _word(self, command: Command) -> Word:
        parts: list[Part] = []
        while True:
            char = self._peek()
            if plain := _PLAIN.match(self.text, self.position):
                parts.append(Part(plain[0]))
                self.position = plain.end()
            elif placeholder := self._placeholder():
                parts.append(Part(placeholder[0]))
                self.position = placeholder.end()
            elif char == "#" and parts:
                parts.append(Part(char))
                self.position += 1
            elif char == "\\" and not self.text.startswith("\\\n", self.position):
                parts.append(Part(self.text[self.position + 1 : self.position + 2], is_quoted=True))
                self.position += 2
            elif char == "\\":
                self.position += 2
                self.line += 1
            elif char == "'":
                parts.append(self._single(command))
            elif self.text.startswith("$'", self.position):
                parts.append(self._ansi_c(command))
            elif self.text.startswith('$"', self.position):  # a text to be translated: there is no catalogue
                self.position += 1
            elif char == '"':
                parts += self._double(command)
            elif char in ("$", "`"):
                parts.append(self.take_reference(is_quoted=False))
            else:
                return Word(tuple(parts))

    def _single(self, command: Command) -> Part:
        end = self.text.find("'", self.position + 1)
        if end < 0:
            raise UnclosedQuoteError("single", command, self.line, self.position)
        body = self.text[self.position + 1 : end]
        self.position = end + 1
        self.line += body.count("\n")
        return Part(body, is_quoted=True)

    def _ansi_c(self, command: Command) -> Part:
        """$'...': a single quote with the escapes of C."""
        match = ANSI_C.match(self.text, self.position)
        if match is None:
            raise UnclosedQuoteError("single", command, self.line, self.position)
        self.position = match.end()
        self.line += match[0].count("\n")
        return Part(read_ansi_c(match["body"]), is_quoted=True)

    def _double(self, command: Command) -> list[Part]:
        opened_at, start = self.line, self.position
        parts = [Part("", is_quoted=True)]
        self.position += 1
        while (char := self._peek()) != '"':
            if char == "":
                raise UnclosedQuoteError("double", command, opened_at, start)
            if plain := _IN_DOUBLE.match(self.text, self.position):
                parts.append(Part(plain[0], is_quoted=True))
                self.position = plain.end()
                self.line += plain[0].count("\n")
            elif char == "\\":
                escaped = self.text[self.position + 1 : self.position + 2]
                kept = "" if escaped == "\n" else escaped if escaped in '$`"\\' else char + escaped
                parts.append(Part(kept, is_quoted=True))
                self.position += 2
                self.line += escaped == "\n"
            else:
                parts.append(self.take_reference(is_quoted=True))
        self.position += 1
        return parts

    def take_reference(self, is_quoted: bool) -> Part:
        """The reference that starts here; a lone $ or ` is text."""
        start = self.position
        end = reference_end(self.text, start)
        self.position = end
        body = self.text[start:end]
        self.line += body.count("\n")
        if len(body) == 1:
            return Part(body, is_quoted=True)
        return Part(body, is_reference=True, is_quoted=is_quoted)

    def _placeholder(self) -> re.Match[str] | None:
        return _PLACEHOLDER.match(self.text, self.position)

    def _peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def _find(self, wanted: str, start: int) -> int:
        found = self.text.find(wanted, start)
        return len(self.text) if found < 0 else found


def split_words(text: str) -> list[Word]:
    """The words of one command where line ends are mere blanks (compose's `command:`); raises UnclosedQuoteError."""
    lexer = Lexer(text.replace("\\\n", " ").replace("\n", " "), 0, 1)
    return [word for command in lexer.commands() for word in command.words]


def split_references(text: str) -> Iterator[Part]:
    """Text outside any quotes as plain pieces and references."""
    lexer = Lexer(text, 0, 1)
    while lexer.position < len(text):
        following = re.compile(r"[^$`]+").match(text, lexer.position)
        if following:
            yield Part(following[0])
            lexer.position = following.end()
        else:
            yield lexer.take_reference(is_quoted=True)
