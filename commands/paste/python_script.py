"""Rewrites a Python script that starts a server (subprocess, os.system) as shell text; nothing is executed."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from shlex import quote
from textwrap import dedent

from commands.paste.servers import has_server_start
from python_syntax import parse_source

MAX_TEXT = 100_000  # characters
MAX_DEPTH = 30  # nested blocks, and names that stand for names
MAX_SHOWN = 120  # characters of an expression
_IS_PYTHON = re.compile(r"^[ \t]*(?:import[ \t]+\w|from[ \t]+[\w.]+[ \t]+import[ \t])|\b(?:subprocess|os)\.\w+\(", re.M)
_TEXT_FUNCTIONS = frozenset({"split", "dedent", "strip"})
_CONVERSIONS = frozenset({"str", "Path", "fspath"})
_ENVIRONMENT_GETTERS = frozenset({"getenv", "get"})
_SHOWING_FUNCTIONS = frozenset({"print", "debug", "info", "warning", "error", "log", "write"})
_HELD = re.compile(r"([\\\"$`])")


@dataclass
class _Translator:
    """Translates the statements that make and start a command."""

    lines: list[str] = field(default_factory=list)
    lists: set[str] = field(default_factory=set)  # names of lists of words
    texts: dict[str, ast.expr] = field(default_factory=dict)  # names of texts that a shell may run
    switches: dict[str, bool] = field(default_factory=dict)  # names of truth values that are assigned once

    def block(self, statements: Sequence[ast.stmt], depth: int = 0) -> None:
        """Translate the statements of a block in their order."""
        for statement in statements if depth < MAX_DEPTH else ():
            self._statement(statement, depth)

    def _statement(self, node: ast.stmt, depth: int) -> None:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            self._assign(node)
        elif isinstance(node, ast.Expr | ast.Return):
            self._commands_of(node)
        elif isinstance(node, ast.If):
            self._condition(node, depth)
        elif isinstance(node, ast.For | ast.While):
            self.lines.append(f"while [ {self._shown(node.iter if isinstance(node, ast.For) else node.test)} ]; do")
            self.block(node.body, depth + 1)
            self.lines.append("done")
        elif isinstance(node, ast.With | ast.AsyncWith | ast.Try | ast.ClassDef):
            self.block(node.body, depth + 1)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self._defaults(node.args)
            self.block(node.body, depth + 1)

    def _condition(self, node: ast.If, depth: int) -> None:
        if "__name__" in ast.unparse(node.test)[:MAX_SHOWN]:
            return self.block(node.body, depth + 1)
        if (is_true := self._truth(node.test)) is not None:
            return self.block(node.body if is_true else node.orelse, depth + 1)
        self.lines.append(f"if [ {self._shown(node.test)} ]; then")
        self.block(node.body, depth + 1)
        if node.orelse:
            self.lines.append("else")
            self.block(node.orelse, depth + 1)
        self.lines.append("fi")
        return None

    def _truth(self, test: ast.expr) -> bool | None:
        """Whether a condition holds, if the script itself decides it by a switch; else None."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            is_true = self._truth(test.operand)
            return None if is_true is None else not is_true
        return self.switches.get(test.id) if isinstance(test, ast.Name) else None

    def _defaults(self, arguments: ast.arguments) -> None:
        """The arguments of a function: their defaults hold unless a caller says otherwise."""
        positional = arguments.args[len(arguments.args) - len(arguments.defaults) :]
        pairs = [*zip(positional, arguments.defaults, strict=True)]
        pairs += [
            (name, value) for name, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value
        ]
        for name, value in pairs:
            if default := _constant(value):
                self.lines.append(f"{name.arg}=${{{name.arg}:-{default}}}")

    def _assign(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        if node.value is None:
            return
        self._commands_of(node.value)
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name):
                self._assign_name(target.id, node.value, is_growing=isinstance(node, ast.AugAssign))
            elif isinstance(target, ast.Subscript) and _name_of(target.value) == "environ":
                name = _constant(target.slice)
                self.lines += [f"export {name}={self.word(node.value)}"] if name.isidentifier() else []

    def _assign_name(self, name: str, value: ast.expr, is_growing: bool) -> None:
        plus = "+" if is_growing else ""
        if (words := self._words(value)) is not None or name in self.lists:
            self.lists.add(name)
            self.lines.append(f"{name}{plus}=({' '.join(words if words is not None else [self.word(value)])})")
        elif not is_growing:
            self.texts[name] = value
            self.lines.append(f"{name}={self.word(value)}")

    def _commands_of(self, node: ast.AST) -> None:
        """The commands that the calls in a node start, and what they add to lists."""
        statement = node.value if isinstance(node, ast.Expr) else None
        if isinstance(statement, ast.Call) and _name_of(statement.func) in _SHOWING_FUNCTIONS:
            return
        calls = [inner for inner in ast.walk(node) if isinstance(inner, ast.Call)]
        for call in calls:
            owner = call.func.value if isinstance(call.func, ast.Attribute) else None
            if isinstance(owner, ast.Name) and owner.id in self.lists and call.args:
                if (name := _name_of(call.func)) in ("append", "extend"):
                    item = ast.List([call.args[0]]) if name == "append" else call.args[0]
                    self._assign_name(owner.id, item, is_growing=True)
                continue
            arguments = (*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "args"))
            if command := next(filter(None, map(self._command, arguments)), None):
                self.lines.append(self._environment_of(call) + command)
                break  # the calls within this one make its arguments

    def _command(self, value: ast.expr) -> str | None:
        """The command that a list of words or a text states; None for any other value."""
        if isinstance(value, ast.Name) and value.id in self.lists:
            return f'"${{{value.id}[@]}}"'
        words = self._words(value)
        text = " ".join(words) if words is not None else self._shell_text(value)
        return text if text and has_server_start(text.replace("'", "").replace('"', "")) else None

    def _shell_text(self, value: ast.expr) -> str | None:
        for _ in range(MAX_DEPTH):
            if isinstance(value, ast.Name) and value.id in self.texts:
                value = self.texts[value.id]
            elif isinstance(value, ast.Call) and _name_of(value.func) in _TEXT_FUNCTIONS:
                owner = value.func.value if isinstance(value.func, ast.Attribute) else value
                is_method = isinstance(owner, ast.Constant | ast.JoinedStr | ast.Call) and owner is not value
                value = value.args[0] if value.args and not is_method else owner
        if isinstance(value, ast.JoinedStr):
            return "".join(_constant(part) or self.word(part).strip('"') for part in value.values)
        return _constant(value) or None

    def _environment_of(self, call: ast.Call) -> str:
        """The variables of `env={..., "NAME": "value"}` before a command."""
        value = next((keyword.value for keyword in call.keywords if keyword.arg == "env"), None)
        value = self.texts.get(value.id) if isinstance(value, ast.Name) else value
        pairs = zip(value.keys, value.values, strict=True) if isinstance(value, ast.Dict) else ()
        keyed_items = [(_constant(key), item) for key, item in pairs if key is not None]
        return "".join(f"{name}={self.word(item)} " for name, item in keyed_items if name.isidentifier())

    def _words(self, value: ast.expr) -> list[str] | None:
        """The words of a list, of lists that are added, or of a name that stands for one; None for no list."""
        if isinstance(value, ast.List | ast.Tuple):
            return [word for entry in value.elts for word in self._entry(entry)]
        if isinstance(value, ast.Name) and value.id in self.lists:
            return [f'"${{{value.id}[@]}}"']
        if isinstance(value, ast.IfExp) and (is_true := self._truth(value.test)) is not None:
            return self._words(value.body if is_true else value.orelse)
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            left, right = self._words(value.left), self._words(value.right)
            return [*left, *right] if left is not None and right is not None else None
        return None

    def _entry(self, entry: ast.expr) -> list[str]:
        if isinstance(entry, ast.IfExp) and (is_true := self._truth(entry.test)) is not None:
            return self._entry(entry.body if is_true else entry.orelse)
        if isinstance(entry, ast.Starred):
            words = self._words(entry.value)
            return [self.word(entry.value).strip('"')] if words is None else words
        return [self.word(entry)]

    def word(self, value: ast.expr) -> str:
        """One word of a shell; what only a run can compute becomes `$(expression)`."""
        if isinstance(value, ast.IfExp) and (is_true := self._truth(value.test)) is not None:
            return self.word(value.body if is_true else value.orelse)
        if isinstance(value, ast.Constant):
            return quote(_constant(value))
        if isinstance(value, ast.JoinedStr):
            parts = (_HELD.sub(r"\\\1", _constant(part)) or self.word(part).strip('"') for part in value.values)
            return f'"{"".join(parts)}"'
        if isinstance(value, ast.FormattedValue):
            return self.word(value.value)
        if isinstance(value, ast.Name):
            return f'"${{{value.id}}}"'
        if isinstance(value, ast.Call) and value.args:
            name, first = _name_of(value.func), value.args[0]
            if name in _CONVERSIONS and len(value.args) == 1:
                return self.word(first)
            if name in _ENVIRONMENT_GETTERS and "env" in ast.unparse(value.func) and _constant(first).isidentifier():
                default = f":-{_constant(value.args[1])}" if len(value.args) > 1 else ""
                return f'"${{{_constant(first)}{default}}}"'
        return "python3" if ast.unparse(value) == "sys.executable" else f'"$({self._shown(value)})"'

    @staticmethod
    def _shown(value: ast.expr) -> str:
        return " ".join(re.sub(r"[^\w.,:/=<>-]", " ", ast.unparse(value)[:MAX_SHOWN]).replace("<", "").split())


def rewrite_python(text: str) -> str:
    """Return a Python script's commands and what they are made of; other texts stay as they are."""
    if len(text) > MAX_TEXT or not _IS_PYTHON.search(text):
        return text
    translator = _Translator()
    try:
        script = _parse(text)
        translator.switches = _switches(script)
        translator.block(script.body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    rewritten = "\n".join(translator.lines)
    return rewritten if any(map(has_server_start, rewritten.replace("(", " ").split("\n"))) else text


def _parse(text: str) -> ast.Module:
    """Parse a script, or a part of one that was copied with its indentation and may end within a `try`."""
    lines = dedent(text)
    try:
        return parse_source(lines)
    except SyntaxError:
        return parse_source(f"{lines}\nfinally:\n    pass\n")


def _switches(script: ast.Module) -> dict[str, bool]:
    """The truth values that a script assigns to names, each of them assigned nowhere else."""
    nodes = list(ast.walk(script))
    names = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    counts = Counter(names + [node.arg for node in nodes if isinstance(node, ast.arg)])
    switches: dict[str, bool] = {}
    for node in script.body:
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if isinstance(value, ast.Constant) and isinstance(value.value, bool):
            switches |= {
                name.id: value.value for name in targets if isinstance(name, ast.Name) and counts[name.id] == 1
            }
    return switches


def _name_of(function: ast.expr) -> str:
    """The last part of a function's name."""
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _constant(value: ast.expr) -> str:
    """The text of a constant; nothing for any other value."""
    is_text = isinstance(value, ast.Constant) and isinstance(value.value, str | int | float)
    return str(value.value) if isinstance(value, ast.Constant) and is_text and value.value is not True else ""
