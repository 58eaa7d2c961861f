"""bash's `$'...'`: single-quoted text with C escapes."""

from __future__ import annotations

import re

ANSI_C = re.compile(r"\$'(?P<body>(?:[^'\\]|\\.)*)'", re.DOTALL)
_PIECE = re.compile(
    r"\\(?:(?P<octal>[0-7]{1,3})|x(?P<byte>[0-9A-Fa-f]{1,2})|u(?P<short>[0-9A-Fa-f]{1,4})|"
    r"U(?P<long>[0-9A-Fa-f]{1,8})|(?P<letter>.))|(?P<text>[^\\]+)",
    re.DOTALL,
)
_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_LITERAL_ESCAPES = "\\'\"?"


def read_ansi_c(body: str) -> str:
    """Decode the escapes between the quotes; invalid escapes stay as written."""
    return b"".join(map(_decode, _PIECE.finditer(body))).decode(errors="replace")


def _decode(match: re.Match[str]) -> bytes:
    if code := match["octal"] or match["byte"]:
        return bytes([int(code, 8 if match["octal"] else 16) & 0xFF])
    if code := match["short"] or match["long"]:
        return chr(min(int(code, 16), 0x10FFFF)).encode(errors="replace")
    if letter := match["letter"]:
        return _LETTERS.get(letter, letter if letter in _LITERAL_ESCAPES else match[0]).encode()
    return match["text"].encode(errors="surrogatepass")
