"""Computes a shell's arithmetic on whole numbers: `$((ISL * TP))`, `$(( (MAX + 1) / 2 ))`."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from python_syntax import parse_source

MAX_NUMBER = 2**63 - 1
_EXPRESSION = re.compile(r"\$\(\(([\w\s$ {}()*/%+-]{1,200})\)\)")
_REFERENCE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_NAME = re.compile(r"[A-Za-z_]\w*")
# A shell changes a variable with `--A`, and reads neither `1_000` nor `0b11`, as Python does.
_UNREAD = re.compile(r"--|\+\+|\b0[obOB]|\b\d\w*_")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,18})")  # a shell reads other leading zeros as octal


def arithmetic_names(reference: str) -> list[str] | None:
    """Return the names in an arithmetic reference; None for any other reference."""
    match = _EXPRESSION.fullmatch(reference)
    return list(dict.fromkeys(_NAME.findall(match[1]))) if match else None


def compute(reference: str, values: Mapping[str, str]) -> str | None:
    """Return the result of an arithmetic reference; None if a name has no whole number, or the form is not read."""
    match = _EXPRESSION.fullmatch(reference)
    if match is None or _UNREAD.search(match[1]):
        return None
    numbers = {name: int(text) for name, text in values.items() if _NUMBER.fullmatch(text)}
    try:
        statements = parse_source(_REFERENCE.sub(r" \1\2 ", match[1]).strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    statement = statements[0] if len(statements) == 1 else None
    result = _value(statement.value, numbers) if isinstance(statement, ast.Expr) else None
    return None if result is None else str(result)


def _value(node: ast.expr, numbers: Mapping[str, int]) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.Name):
        return numbers.get(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        operand = _value(node.operand, numbers)
        return None if operand is None else -operand
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _value(node.left, numbers), _value(node.right, numbers)
    result = None if left is None or right is None else _combine(node.op, left, right)
    return result if result is not None and abs(result) <= MAX_NUMBER else None


def _combine(operator: ast.operator, left: int, right: int) -> int | None:
    if isinstance(operator, ast.Add):
        return left + right
    if isinstance(operator, ast.Sub):
        return left - right
    if isinstance(operator, ast.Mult):
        return left * right
    if not isinstance(operator, ast.Div | ast.Mod) or right == 0:
        return None
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)  # a shell cuts towards zero
    return quotient if isinstance(operator, ast.Div) else left - quotient * right
