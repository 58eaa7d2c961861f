"""A lexer for POSIX shell words: reads quotes, escapes, references, operators and redirections, and runs nothing."""

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
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*(?:\[[\w.-]+\])?)(\+?)=")
_OPENINGS = frozenset({"then", "else", "do", "{"})
_DECLARATIONS = frozenset({"declare", "typeset", "local", "readonly", "export"})


class UnclosedQuoteError(PitwallError):
    """A quote is never closed; `command` has the words before it, `line` is its first line."""

    def __init__(self, quote: str, command: Command, line: int, position: int) -> None:
        super().__init__(quote)
        self.quote, self.command, self.line, self.position = quote, command, line, position


class WordPart(NamedTuple):
    """A piece of a word: text, or a reference as written ('$PORT', '${X:-d}', '$(date)')."""

    text: str
    is_reference: bool = False
    is_quoted: bool = False


@dataclass(frozen=True)
class Word:
    """A shell word after quote removal."""

    parts: tuple[WordPart, ...]

    @cached_property
    def text(self) -> str:
        """The word with its references as written; a quoted `$` or `~` is marked (`commands.quoting`)."""
        return self.fill_references(lambda part: part.text)

    def fill_references(self, read: Callable[[WordPart], str]) -> str:
        """Return the word with `read` applied to its references."""
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
        """Name and value of 'NAME=value'; for 'NAME+=value' the value starts with the old one."""
        first = self.parts[0] if self.parts else None
        match = _ASSIGNMENT.match(first.text) if first and not first.is_quoted and not first.is_reference else None
        if not first or not match:
            return None
        value = first.text[match.end() :]
        previous = (WordPart(f"${{{match[1]}:-}}", is_reference=True, is_quoted=True),) if match[2] else ()
        return match[1], Word(previous + ((WordPart(value),) if value else ()) + self.parts[1:])


def literal(text: str) -> Word:
    """Return a word of literal text."""
    return Word((WordPart(text, is_quoted=True),))


@dataclass(slots=True)
class Command:
    """One simple command: words, redirections, an array assignment and the operator that ends it."""

    line: int
    start: int
    end: int = 0
    words: list[Word] = field(default_factory=list)
    redirections: list[str] = field(default_factory=list)
    array: tuple[str, list[Word]] | None = None  # NAME=(...); NAME+=(...) starts with the old array
    ends_with: str = ""
    unclosed_quote: UnclosedQuoteError | None = None  # set if its words end early
    preceding_operator: str = ""  # the operator before it


def _can_assign(command: Command) -> bool:
    """Whether an array may be assigned after the words so far: `declare -A NAME=(…)`, `then NAME=(…)`."""
    leading = [word.text for word in command.words[:2]]
    return not leading or leading[0] in _DECLARATIONS | _OPENINGS or leading[-1] in _DECLARATIONS


class Lexer:
    """Reads one line of a script, and further lines if its quotes and backslashes continue."""

    def __init__(self, text: str, position: int, line: int) -> None:
        self.text, self.position, self.line = text, position, line

    def commands(self) -> Iterator[Command]:
        """Yield the simple commands up to the end of the line; raises UnclosedQuoteError."""
        operator = ""
        while True:
            command = Command(self.line, self.position, preceding_operator=operator)
            self._read(command)
            yield command
            operator = command.ends_with
            if operator in ("\n", ""):
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
                self._read_word(command)

    def _read_word(self, command: Command) -> None:
        start = self.position
        word = self._word(command)
        redirect = _REDIRECT.match(self.text, self.position)
        if redirect and self.text[start : self.position].isdigit() and not self._placeholder():  # 2>&1
            self._redirect(command, redirect, word.text)
        elif self._peek() == "(" and _can_assign(command) and (opening := _ASSIGNMENT.fullmatch(word.text)):
            self.position += 1
            old_items = [Word((WordPart(f"${{{opening[1]}[@]}}", is_reference=True),))] if opening[2] else []
            command.array = (opening[1], old_items + self._array(command))
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
        parts: list[WordPart] = []
        while True:
            char = self._peek()
            if plain := _PLAIN.match(self.text, self.position):
                parts.append(WordPart(plain[0]))
                self.position = plain.end()
            elif placeholder := self._placeholder():
                parts.append(WordPart(placeholder[0]))
                self.position = placeholder.end()
            elif char == "#" and parts:
                parts.append(WordPart(char))
                self.position += 1
            elif char == "\\" and not self.text.startswith("\\\n", self.position):
                parts.append(WordPart(self.text[self.position + 1 : self.position + 2], is_quoted=True))
                self.position += 2
            elif char == "\\":
                self.position += 2
                self.line += 1
            elif char == "'":
                parts.append(self._single(command))
            elif self.text.startswith("$'", self.position):
                parts.append(self._ansi_c(command))
            elif self.text.startswith('$"', self.position):  # a translatable string; there are no translations
                self.position += 1
            elif char == '"':
                parts += self._double(command)
            elif char in ("$", "`"):
                parts.append(self.take_reference(is_quoted=False))
            else:
                return Word(tuple(parts))

    def _single(self, command: Command) -> WordPart:
        end = self.text.find("'", self.position + 1)
        if end < 0:
            raise UnclosedQuoteError("single", command, self.line, self.position)
        body = self.text[self.position + 1 : end]
        self.position = end + 1
        self.line += body.count("\n")
        return WordPart(body, is_quoted=True)

    def _ansi_c(self, command: Command) -> WordPart:
        """$'...': single quotes with C escapes."""
        match = ANSI_C.match(self.text, self.position)
        if match is None:
            raise UnclosedQuoteError("single", command, self.line, self.position)
        self.position = match.end()
        self.line += match[0].count("\n")
        return WordPart(read_ansi_c(match["body"]), is_quoted=True)

    def _double(self, command: Command) -> list[WordPart]:
        start_line, start = self.line, self.position
        parts = [WordPart("", is_quoted=True)]
        self.position += 1
        while (char := self._peek()) != '"':
            if char == "":
                raise UnclosedQuoteError("double", command, start_line, start)
            if plain := _IN_DOUBLE.match(self.text, self.position):
                parts.append(WordPart(plain[0], is_quoted=True))
                self.position = plain.end()
                self.line += plain[0].count("\n")
            elif char == "\\":
                escaped = self.text[self.position + 1 : self.position + 2]
                content = "" if escaped == "\n" else escaped if escaped in '$`"\\' else char + escaped
                parts.append(WordPart(content, is_quoted=True))
                self.position += 2
                self.line += escaped == "\n"
            else:
                parts.append(self.take_reference(is_quoted=True))
        self.position += 1
        return parts

    def take_reference(self, is_quoted: bool) -> WordPart:
        """Read the reference that starts here; a lone $ or ` is text."""
        start = self.position
        end = reference_end(self.text, start)
        self.position = end
        body = self.text[start:end]
        self.line += body.count("\n")
        if len(body) == 1:
            return WordPart(body, is_quoted=True)
        return WordPart(body, is_reference=True, is_quoted=is_quoted)

    def _placeholder(self) -> re.Match[str] | None:
        return _PLACEHOLDER.match(self.text, self.position)

    def _peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def _find(self, text: str, start: int) -> int:
        position = self.text.find(text, start)
        return len(self.text) if position < 0 else position


def split_words(text: str) -> list[Word]:
    """Return the words of one command, with line ends as spaces (Compose's `command:`); raises UnclosedQuoteError."""
    lexer = Lexer(text.replace("\\\n", " ").replace("\n", " "), 0, 1)
    return [word for command in lexer.commands() for word in command.words]


def split_references(text: str) -> Iterator[WordPart]:
    """Split unquoted text into plain pieces and references."""
    lexer = Lexer(text, 0, 1)
    while lexer.position < len(text):
        match = re.compile(r"[^$`]+").match(text, lexer.position)
        if match:
            yield WordPart(match[0])
            lexer.position = match.end()
        else:
            yield lexer.take_reference(is_quoted=True)
