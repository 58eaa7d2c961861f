"""Marks that distinguish a literal `$`, `~`, `*`, `?` or `[` in a Config's word from one that is expanded at the start.

As in a shell's double quotes, a backslash precedes a literal character, and backslashes directly before either kind are
doubled. Only characters that would be expanded are marked: `$` before a name or `{`, `~` at the start of a word or
value, and `*`, `?` and `[` in a word that looks like a path.
"""

from __future__ import annotations

import re

# Placeholders while a word is built: for a literal `$` and `~`, the border before a quoted and before another piece,
# and the end of a `$NAME`. They are surrogates, which cannot occur in a program's arguments.
_DOLLAR, _TILDE, _QUOTE, _BORDER, _END = "\ud800", "\ud801", "\ud802", "\ud803", "\ud804"
_MARKED_DOLLAR = re.compile(rf"(?<!\\)(\\*){_DOLLAR}(?=[A-Za-z_{{])")
_MARKED_TILDE = re.compile(rf"(?:^|(?<=[:=]))(\\*){_TILDE}")
_ESCAPED = re.compile(r"(?<!\\)(\\+)(?=\$[A-Za-z_{])|(?:^|(?<=[:=]))(\\+)(?=~)")
_REFERENCE_START = re.compile(r"\\*\$[A-Za-z_{]")
_HOME = re.compile(r"~(?=/|$)")
_NAME_LAST = re.compile(r"(?<!\\)(?:\\\\)*\$[A-Za-z_][A-Za-z0-9_]*$")
_GOES_ON = re.compile(rf"\$([A-Za-z_][A-Za-z0-9_]*)(?={_END}[{_QUOTE}{_BORDER}]+[A-Za-z0-9_])")
_UP_TO_COLON, _UP_TO_SLASH = re.compile(r"[^/:]+"), re.compile(r"^~[^/]*")
_BORDERS = re.compile(f"[{_QUOTE}{_BORDER}{_END}]")
# Regular expressions, JSON and URLs have the same characters; a shell leaves them alone if no file matches.
_LIKE_A_PATH = re.compile(r"/|\.(?:gguf|bin|safetensors|json|jinja2?|ya?ml|toml|txt|gbnf|grammar)$")
_UNLIKE_A_PATH = re.compile(r"[\"{\n]|://")
_REFERENCE_IN_BRACES = re.compile(r"\$\{\w+\}")
_LITERAL_SIGNS = {"*": "\ud805", "?": "\ud806", "[": "\ud807"}
_TO_LITERAL, _FROM_LITERAL = str.maketrans(_LITERAL_SIGNS), str.maketrans({v: k for k, v in _LITERAL_SIGNS.items()})
_SIGN = re.compile(rf"(?<!\\)(\\*)([*?[{''.join(_LITERAL_SIGNS.values())}])")
_PATTERN = re.compile(r"(\*|\?|\[[!^]?[\w.,+-]+\])")


class WordBuilder:
    """Builds a word from literal and other parts."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._slashes = 0  # trailing backslashes of the word so far
        self._is_plain_last = False

    def _add(self, text: str, border: str, is_plain: bool = False) -> None:
        body_length = len(text.rstrip("\\"))
        self._slashes = len(text) - body_length + (0 if body_length else self._slashes)
        self._pieces.append(border + text if self._pieces or border == _QUOTE else text)
        self._is_plain_last = is_plain

    def add_literal(self, text: str) -> None:
        """Add quoted text."""
        self._add(text.replace("$", _DOLLAR).replace("~", _TILDE).translate(_TO_LITERAL), _QUOTE)

    def add_plain(self, text: str) -> None:
        """Add unquoted text: its `~` is expanded, unless it follows a quote."""
        if text.startswith("~") and self._pieces and not self._is_plain_last:
            text = _TILDE + text[1:]
        self._add(text, _BORDER, is_plain=True)

    def add_word(self, text: str, is_quoted: bool) -> None:
        """Add a complete word: a reference as written, or a variable's value.

        A variable's file pattern is active if the variable is unquoted, however it was assigned.
        """
        if self._pieces and _HOME.match(text):
            text = "$HOME" + text[1:]  # a shell expands `~` at the assignment
        text = _literal_signs(text).translate(_TO_LITERAL if is_quoted else _FROM_LITERAL)
        marks = "\\" * self._slashes if _REFERENCE_START.match(text) else ""
        self._add(marks + text + (_END if _NAME_LAST.search(text) else ""), _BORDER)

    @property
    def text(self) -> str:
        """The word with its literal characters marked."""
        separated = _GOES_ON.sub(r"${\1}", "".join(self._pieces))  # or "$X"a would read as $Xa
        bare = _BORDERS.sub("", _UP_TO_SLASH.sub(_no_home, _UP_TO_COLON.sub(_no_home, separated)))
        marked = _MARKED_TILDE.sub(r"\1\1\\~", _MARKED_DOLLAR.sub(r"\1\1\\$", bare))
        return _mark_signs(marked.replace(_DOLLAR, "$").replace(_TILDE, "~"))


def _no_home(match: re.Match[str]) -> str:
    """The piece with each `~` literal whose name contains a quote."""
    before, quote, after = match[0].rpartition(_QUOTE)
    return re.sub(r"(^|=)~", rf"\1{_TILDE}", before) + quote + after


def without_quotes(text: str) -> str:
    """Return the text without the quotes around all of it, which a shell removes from a default: `${X:-"0.2"}`."""
    inner = text[1:-1]
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" and text[0] not in inner
    return inner if is_quoted and "\\" not in inner else text


def as_literal(text: str) -> str:
    """Return a word that stands for exactly this text."""
    builder = WordBuilder()
    builder.add_literal(text)
    return builder.text


def without_marks(word: str) -> str:
    """Return the word without any marks; references stay as written."""
    return without_expansion_marks(without_pattern_marks(word))


def without_expansion_marks(word: str) -> str:
    """Return the word without the marks of `$` and `~`."""
    return _ESCAPED.sub(lambda match: "\\" * (len(match[0]) // 2), word)


def without_pattern_marks(word: str) -> str:
    """Return the word without the marks of `*`, `?` and `[`; `$` and `~` stay marked."""
    return _literal_signs(word).translate(_FROM_LITERAL)


def pattern_pieces(word: str) -> list[str]:
    """Split a word into alternating text and pattern pieces: ['models/', '*', '.gguf'].

    A single piece if it is not a file pattern. `*`, `?` and `[` in the text pieces are literal.
    """
    pieces = _PATTERN.split(_literal_signs(word)) if _may_name_files(word) else [_literal_signs(word)]
    return [piece.translate(_FROM_LITERAL) for piece in pieces]


def _may_name_files(word: str) -> bool:
    """Whether the word looks like a path, so that its pattern characters refer to files."""
    is_unlike = _UNLIKE_A_PATH.search(_REFERENCE_IN_BRACES.sub("", word))
    return bool(_LIKE_A_PATH.search(word)) and not is_unlike


def _literal_signs(word: str) -> str:
    """A marked word with placeholders for its literal `*`, `?` and `[`."""
    return _SIGN.sub(_read_sign, word) if _may_name_files(word) else word


def _read_sign(match: re.Match[str]) -> str:
    slashes, sign = match.groups()
    return "\\" * (len(slashes) // 2) + (sign.translate(_TO_LITERAL) if len(slashes) % 2 else sign)


def _mark_signs(word: str) -> str:
    unmarked = word.translate(_FROM_LITERAL)
    return _SIGN.sub(_mark_sign, word) if _may_name_files(unmarked) else unmarked


def _mark_sign(match: re.Match[str]) -> str:
    slashes, sign = match.groups()
    return slashes * 2 + ("" if sign in _LITERAL_SIGNS else "\\") + sign.translate(_FROM_LITERAL)
