"""How a word of a Config distinguishes a literal `$`, `~`, `*`, `?` or `[` from one that is expanded at the start.

As in a shell's double quotes, a backslash precedes the literal one, and backslashes just before either are doubled.
Only what would be expanded is marked: a `$` before a name or `{`, a `~` at the start of a word or a value, and `*`, `?`
and `[` in a word that reads like a path.
"""

from __future__ import annotations

import re

# Stand for a literal `$` and `~`, for the border before a quoted and another piece, and for the end of a `$NAME`, while
# a word is put together: surrogates, which no text holds that a program can be given.
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
# A regular expression, JSON or an address has the same signs, and a shell leaves it alone where no file matches.
_LIKE_A_PATH = re.compile(r"/|\.(?:gguf|bin|safetensors|json|jinja2?|ya?ml|toml|txt|gbnf|grammar)$")
_UNLIKE_A_PATH = re.compile(r"[\"{\n]|://")
_REFERENCE_IN_BRACES = re.compile(r"\$\{\w+\}")
_LITERAL_SIGNS = {"*": "\ud805", "?": "\ud806", "[": "\ud807"}
_TO_LITERAL, _FROM_LITERAL = str.maketrans(_LITERAL_SIGNS), str.maketrans({v: k for k, v in _LITERAL_SIGNS.items()})
_SIGN = re.compile(rf"(\\*)([*?[{''.join(_LITERAL_SIGNS.values())}])")
_PATTERN = re.compile(r"(\*|\?|\[[!^]?[\w.,+-]+\])")


class WordBuilder:
    """Puts a word together from its literal and its other parts."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._slashes = 0  # backslashes that the word ends in so far
        self._is_plain_last = False

    def _add(self, text: str, border: str, is_plain: bool = False) -> None:
        said = len(text.rstrip("\\"))
        self._slashes = len(text) - said + (0 if said else self._slashes)
        self._pieces.append(border + text if self._pieces or border == _QUOTE else text)
        self._is_plain_last = is_plain

    def add_literal(self, text: str) -> None:
        """Text that was quoted."""
        self._add(text.replace("$", _DOLLAR).replace("~", _TILDE).translate(_TO_LITERAL), _QUOTE)

    def add_plain(self, text: str) -> None:
        """Text outside quotes: its `~` counts, but for one that comes after a quote."""
        if text.startswith("~") and self._pieces and not self._is_plain_last:
            text = _TILDE + text[1:]
        self._add(text, _BORDER, is_plain=True)

    def add_word(self, text: str, is_quoted: bool) -> None:
        """What is a word already: a reference as it was written, or what a variable holds.

        A file pattern that a variable holds is one where the variable is not quoted, however it was assigned.
        """
        if self._pieces and _HOME.match(text):
            text = "$HOME" + text[1:]  # a shell fills the `~` in where the variable is assigned
        text = _literal_signs(text).translate(_TO_LITERAL if is_quoted else _FROM_LITERAL)
        marks = "\\" * self._slashes if _REFERENCE_START.match(text) else ""
        self._add(marks + text + (_END if _NAME_LAST.search(text) else ""), _BORDER)

    @property
    def text(self) -> str:
        """The word with its literal signs marked."""
        named = _GOES_ON.sub(r"${\1}", "".join(self._pieces))  # or "$X"a would read as $Xa
        bare = _BORDERS.sub("", _UP_TO_SLASH.sub(_no_home, _UP_TO_COLON.sub(_no_home, named)))
        marked = _MARKED_TILDE.sub(r"\1\1\\~", _MARKED_DOLLAR.sub(r"\1\1\\$", bare))
        return _mark_signs(marked.replace(_DOLLAR, "$").replace(_TILDE, "~"))


def _no_home(match: re.Match[str]) -> str:
    """A piece in which each `~` is literal whose name a quote is part of."""
    before, quote, after = match[0].rpartition(_QUOTE)
    return re.sub(r"(^|=)~", rf"\1{_TILDE}", before) + quote + after


def as_literal(text: str) -> str:
    """A word that says this text and nothing else."""
    builder = WordBuilder()
    builder.add_literal(text)
    return builder.text


def without_marks(word: str) -> str:
    """What the word says, references as they are written."""
    return without_expansion_marks(without_pattern_marks(word))


def without_expansion_marks(word: str) -> str:
    """The word with `$` and `~` as they are meant."""
    return _ESCAPED.sub(lambda match: "\\" * (len(match[0]) // 2), word)


def without_pattern_marks(word: str) -> str:
    """The word with `*`, `?` and `[` as they are meant; `$` and `~` stay marked."""
    return _literal_signs(word).translate(_FROM_LITERAL)


def pattern_pieces(word: str) -> list[str]:
    """The word in turn as text and as a piece that stands for parts of file names: ['models/', '*', '.gguf'].

    One piece where it is no file pattern. `*`, `?` and `[` of the texts are meant as they stand.
    """
    pieces = _PATTERN.split(_literal_signs(word)) if _may_name_files(word) else [_literal_signs(word)]
    return [piece.translate(_FROM_LITERAL) for piece in pieces]


def _may_name_files(word: str) -> bool:
    """Whether a shell's user would mean files by the signs in it."""
    is_unlike = _UNLIKE_A_PATH.search(_REFERENCE_IN_BRACES.sub("", word))
    return bool(_LIKE_A_PATH.search(word)) and not is_unlike


def _literal_signs(word: str) -> str:
    """A marked word with its literal `*`, `?` and `[` as the characters that stand for them."""
    return _SIGN.sub(_read_sign, word) if _may_name_files(word) else word


def _read_sign(match: re.Match[str]) -> str:
    slashes, sign = match.groups()
    return "\\" * (len(slashes) // 2) + (sign.translate(_TO_LITERAL) if len(slashes) % 2 else sign)


def _mark_signs(word: str) -> str:
    said = word.translate(_FROM_LITERAL)
    return _SIGN.sub(_mark_sign, word) if _may_name_files(said) else said


def _mark_sign(match: re.Match[str]) -> str:
    slashes, sign = match.groups()
    return slashes * 2 + ("" if sign in _LITERAL_SIGNS else "\\") + sign.translate(_FROM_LITERAL)
