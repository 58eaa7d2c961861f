"""Reads the attribute sets of a Nix expression as far as they are literal; nothing is evaluated."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
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
_INTERPOLATION = re.compile(r"(?<!\\)\$\{(?:(?:builtins\.)?toString[ \t]+)?([\w.-]+)\}")
_TEXT_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_PASSES_ON = re.compile(r"(?:lib\.)?mk(?:If|Force|Default|Merge|Before|After)$|with$")  # their last argument
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
        return resolved if isinstance(resolved, str) else match[0]

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
        if len(terms) == 1:
            return terms[0]
        lists = [term for term in terms if isinstance(term, list)]
        if lists and all(isinstance(term, list) or term == Expression("+") for term in terms):  # `[ a ] ++ [ b ]`
            return [item for items in lists for item in items]
        first = terms[0] if terms else None
        if isinstance(first, Expression) and _PASSES_ON.match(first.text):
            return terms[-1]
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
            self.names |= self._bindings(frozenset({"in"}))
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

    def _bindings(self, ends: frozenset[str]) -> dict[str, Value]:
        bindings: dict[str, Value] = {}
        while self._next.kind != "end" and self._next.text not in ends:
            path = self._take()
            if self._next.text != "=":
                continue
            self._take()
            value = self._value(frozenset(";"))
            parts = [part[1] or part[3] or "" for part in _PATH_PART.finditer(path.text)]
            if path.kind in ("name", "string") and parts and all(parts):
                _store(bindings, parts, value)
        return bindings


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
