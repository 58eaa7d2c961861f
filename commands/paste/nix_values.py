"""Reads the attribute sets of a Nix expression as far as they are literal; nothing is evaluated."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import groupby
from shlex import quote
from typing import NamedTuple

MAX_DEPTH = 40  # nested sets and lists
MOST_TOKENS = 50_000
MAX_NAME_DEPTH = 8  # names that stand for names
MOST_LOOKUPS = 5000
MAX_SHOWN = 60  # characters of an expression in a note
_NAME = r"[A-Za-z_][\w'-]*(?:\.(?:[A-Za-z_][\w'-]*|\"[^\"\n]*\"|\$\{[\w.-]+\}))*"
_TOKEN = re.compile(
    r"(?P<blank>\s+|\#[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)"
    r"|(?P<string>\"(?:[^\"\\$]|\\.|\$\{[^{}]*\}|\$(?!\{))*\")"
    r"|(?P<lines>''(?:[^'$]|'(?!')|\$\{[^{}]*\}|\$(?!\{))*'')"
    rf"|(?P<name>{_NAME})"
    r"|(?P<number>-?\d+(?:\.\d+)?)"
    r"|(?P<symbol>.)",
    re.DOTALL,
)
_PATH_PART = re.compile(r"\"([^\"\n]*)\"|\$\{([\w.-]+)\}|([A-Za-z_][\w'-]*)")
_INTERPOLATION = re.compile(r"(?<!\\)\$\{(?:(?:(?:lib|builtins)\.)?(?:toString|escapeShellArgs?)[ \t]+)?([\w.-]+)\}")
_TEXT_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_PASSES_ON = re.compile(  # their last argument
    r"(?:(?:lib|builtins|strings)\.)*(?:mk(?:If|Force|Default|Merge|Before|After)|toString|escapeShellArgs?|concatStringsSep"
    r"|concatLists|flatten)$|with$"
)
_PLUS = "+"
_OPENING, _CLOSING = frozenset("{[("), frozenset("}])")


class Expression(NamedTuple):
    """A value that only Nix can compute, as a placeholder."""

    text: str

    @property
    def placeholder(self) -> str:
        """The expression in the form of a value that is to be filled in."""
        words = re.sub(r"[^\w ./:-]+", " ", self.text).split()
        return f"<{' '.join(words)[:MAX_SHOWN].strip() or 'expression'}>"


Value = str | list["Value"] | dict[str, "Value"] | Expression


class _Token(NamedTuple):
    kind: str
    text: str


@dataclass
class NixReader:
    """A reading of one text: its outermost set, with the names that `let` binds."""

    text: str
    names: dict[str, Value] = field(default_factory=dict)
    _tokens: list[_Token] = field(default_factory=list)
    _position: int = 0
    _depth: int = 0
    _lookups: int = 0

    def read(self) -> dict[str, Value]:
        """Return the outermost set; an empty one if there is none."""
        for match in _TOKEN.finditer(self.text):
            if match.lastgroup != "blank":
                self._tokens.append(_Token(str(match.lastgroup), match[0]))
            if len(self._tokens) > MOST_TOKENS or match[0] == '"':  # a string without an end is no token
                return {}
        try:
            value = self._value(frozenset())
        except RecursionError:
            return {}
        return value if isinstance(value, dict) else {}

    def text_of(self, value: Value) -> str:
        """Return a value as one text; what only Nix knows is a placeholder."""
        resolved = self.resolve(value)
        if isinstance(resolved, str):
            return resolved
        return resolved.placeholder if isinstance(resolved, Expression) else Expression("a set or list").placeholder

    def resolve(self, value: Value, depth: int = 0) -> Value:
        """Return the value of a name that `let` binds; any other value as it is."""
        self._lookups += 1
        if depth >= MAX_NAME_DEPTH or self._lookups > MOST_LOOKUPS:
            return value
        if isinstance(value, str):
            return _INTERPOLATION.sub(lambda match: self._interpolated(match, depth), value)
        if not isinstance(value, Expression) or not re.fullmatch(_NAME, value.text):
            return value
        target: Value | None = None
        for part in _PATH_PART.finditer(value.text):
            key = part[1] or part[3] or self.text_of(Expression(part[2]))
            scope = self.names if target is None else target
            target = scope.get(key) if isinstance(scope, dict) else None
            if target is None:
                return value
            target = self.resolve(target, depth + 1)
        return value if target is None else target

    def _interpolated(self, match: re.Match[str], depth: int) -> str:
        resolved = self.resolve(Expression(match[1]), depth + 1)
        if isinstance(resolved, list):  # of words, which `concatStringsSep` joins
            return " ".join(map(quote, self.items_of(resolved)))
        return resolved if isinstance(resolved, str) else match[0]

    def items_of(self, items: list[Value]) -> list[str]:
        """Return the texts of a list, with those of the lists that its names stand for."""
        texts: list[str] = []
        for item in items:
            resolved = self.resolve(item)
            texts += (
                self.items_of(resolved)
                if isinstance(resolved, list) and resolved is not items
                else [self.text_of(resolved)]
            )
            if len(texts) > MOST_LOOKUPS:
                break
        return texts

    def filled(self, text: str) -> str:
        """Return a text with the values of the names that `let` binds, wherever one stands; `''${` is a shell's."""
        return _INTERPOLATION.sub(lambda match: self._interpolated(match, 0), text).replace("''${", "${")

    # --- parsing
    @property
    def _next(self) -> _Token:
        return self._tokens[self._position] if self._position < len(self._tokens) else _Token("end", "")

    def _take(self) -> _Token:
        token = self._next
        self._position += 1
        return token

    def _value(self, ends: frozenset[str]) -> Value:
        """The value up to one of these symbols: a literal, a name, or an expression as its text."""
        start = self._position
        if self._skip_header() or self._next.text == "let":
            return self._value_after_let(ends)
        terms: list[Value] = []
        while self._next.kind != "end" and self._next.text not in ends and self._next.text not in _CLOSING:
            terms.append(self._term())
        operands = [operand for is_plus, operand in _groups(terms) if not is_plus]
        values = [self._operand(operand) for operand in operands]
        if len(values) < 2 or Expression("//") in terms:
            is_known = len(terms) == 1 or (values and values[0] is terms[-1])
            return values[0] if is_known else self._source(start)
        if any(isinstance(value, list) for value in values):  # `[ a ] ++ b`
            return [item for value in values for item in (value if isinstance(value, list) else [value])]
        return "".join(map(_interpolation, values))

    def _operand(self, terms: list[Value]) -> Value:
        """The value of a sum's part: a literal, a name, what a function passes on, or an expression as its text."""
        first = terms[0]
        if len(terms) == 1 or (isinstance(first, Expression) and _PASSES_ON.match(first.text)):
            return terms[-1]
        return Expression(" ".join(term.text if isinstance(term, Expression) else str(term) for term in terms))

    def _source(self, start: int) -> Expression:
        return Expression(" ".join(token.text for token in self._tokens[start : self._position]))

    def _skip_header(self) -> bool:
        """Skip the arguments of a function, `{ pkgs, ... }:` or `name:`."""
        end = self._position
        if self._next.text == "{":
            while end < len(self._tokens) and self._tokens[end].text != "}":
                if self._tokens[end].text in ("=", ";"):
                    return False
                end += 1
        is_header = end + 1 < len(self._tokens) and self._tokens[end + 1].text == ":"
        if is_header and (self._next.text == "{" or self._next.kind == "name"):
            self._position = end + 2
            return True
        return False

    def _value_after_let(self, ends: frozenset[str]) -> Value:
        if self._next.text == "let":
            self._take()
            bindings = self._bindings(frozenset({"in"}))
            self.names |= {name: value for name, value in bindings.items() if value != Expression(name)}
            self._take()
        return self._value(ends)

    def _term(self) -> Value:
        token = self._take()
        if token.kind == "string":
            return _unescaped(token.text[1:-1])
        if token.kind == "lines":
            return token.text[2:-2].replace("''${", "${")
        if token.kind == "number":
            return token.text
        if token.text not in _OPENING or self._depth >= MAX_DEPTH:
            return Expression(token.text)
        self._depth += 1
        closing = {"{": "}", "[": "]", "(": ")"}[token.text]
        value: Value
        if token.text == "{":
            value = self._bindings(frozenset("}"))
        elif token.text == "[":
            value = []
            while self._next.kind != "end" and self._next.text not in _CLOSING:
                value.append(self._term())
        else:
            value = self._value(frozenset(")"))
        if self._next.text == closing:
            self._take()
        self._depth -= 1
        return value

    def _inherited(self) -> dict[str, Value]:
        """The names of `inherit a b;`, or those of a set: `inherit (set) a b;`."""
        source = self._term() if self._next.text == "(" else None
        prefix = f"{source.text}." if isinstance(source, Expression) else ""
        inherited: dict[str, Value] = {}
        while self._next.kind == "name":
            name = self._take().text
            inherited[name] = Expression(f"{prefix}{name}")
        return inherited

    def _bindings(self, ends: frozenset[str]) -> dict[str, Value]:
        bindings: dict[str, Value] = {}
        while self._next.kind != "end" and self._next.text not in ends:
            path = self._take()
            if path.text == "inherit":
                bindings |= self._inherited()
            if self._next.text != "=":
                continue
            self._take()
            value = self._value(frozenset(";"))
            parts = [part[1] or part[3] or "" for part in _PATH_PART.finditer(path.text)]
            if path.kind in ("name", "string") and parts and all(parts):
                _store(bindings, parts, value)
        return bindings


def _groups(terms: list[Value]) -> list[tuple[bool, list[Value]]]:
    """The parts of a sum, and its signs."""
    return [(is_plus, list(group)) for is_plus, group in groupby(terms, lambda term: term == Expression(_PLUS))]


def _interpolation(value: Value) -> str:
    """A part of a joined text: a name stands for its value."""
    if isinstance(value, str):
        return value
    is_name = isinstance(value, Expression) and re.fullmatch(_NAME, value.text) is not None
    return f"${{{value.text}}}" if isinstance(value, Expression) and is_name else Expression(str(value)).placeholder


def _store(bindings: dict[str, Value], parts: list[str], value: Value) -> None:
    """Store `a.b.c = value`; sets of the same path are one set."""
    for part in parts[:-1]:
        inner = bindings.setdefault(part, {})
        if not isinstance(inner, dict):
            return
        bindings = inner
    former = bindings.get(parts[-1])
    bindings[parts[-1]] = former | value if isinstance(former, dict) and isinstance(value, dict) else value


def _unescaped(text: str) -> str:
    """A string as it is; an escaped `${` stays apart from an interpolation until that is resolved."""
    return _TEXT_ESCAPE.sub(lambda match: match[0] if match[1] == "$" else match[1], text)
