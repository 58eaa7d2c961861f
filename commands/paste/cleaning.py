"""Repairs damage from copying a command: control characters, typography, mail quoting, prompts, lost newlines."""

from __future__ import annotations

import re
from collections.abc import Callable

from commands.paste.batch import rewrite_batch
from commands.paste.counting_loops import rewrite_counting_loops
from commands.paste.dockerfile import rewrite_dockerfile
from commands.paste.fish import rewrite_fish
from commands.paste.json_commands import rewrite_json
from commands.paste.makefile import rewrite_makefile
from commands.paste.nix import rewrite_nix
from commands.paste.notes import Notes, PasteRefusedError
from commands.paste.powershell import rewrite_powershell
from commands.paste.printed_lists import rewrite_printed_lists
from commands.paste.python_script import rewrite_python
from commands.paste.quadlet import rewrite_quadlet
from commands.paste.servers import INVOCATIONS
from commands.paste.systemd_unit import rewrite_systemd_unit

AROUND_CODE = "the text around the code block"
FlagTest = Callable[[str], str | None]  # the number of words a flag takes in any engine, None if unknown

_ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-_]?)")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]")
_INVISIBLE = re.compile("[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]")
_BLANKS = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_ENTITIES = {"&quot;": '"', "&#34;": '"', "&apos;": "'", "&#39;": "'", "&#x27;": "'", "&lt;": "<", "&gt;": ">"}
_ENTITIES |= {"&nbsp;": " ", "&#x20;": " ", "&amp;": "&"}  # the ampersand last: it makes no new entity
_CURLY = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "‟": '"', "‘": "'", "’": "'", "‚": "'", "‛": "'", "″": '"', "′": "'"}
)
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])[’](?=[^\W\d_])")
_CURLY_JSON = re.compile(r"[“„]([{\[][^'“”\n]*\"[^'“”\n]*[}\]])[”“]")  # straight quotes between curly ones
_DASH = re.compile(r"(?<![^\s'\"`(=])-?[‐‑‒–—―−][‐‑‒–—―−-]*(?=(\w?)(\w?))")
_FENCE = re.compile(r"\s*(```+|~~~+)")
_QUOTED_LINE = re.compile(r"[ \t]*>[ \t]?")
_PROMPT = re.compile(
    r"""\s*(?:\([\w .@:+/-]{1,40}\)\s*)*          # (venv) (main)
    (?: \[?[\w.-]+@[\w.-]+[^\n$\#%>❯]{0,200}[$\#%>❯](?=\s)   # user@host:~/x$
      | [$❯➜»λ](?=\s) | %(?=\s) | \++(?=\s)       # $ and the trace of `set -x`
      | (?:PS\s)?[A-Z]:\\[^\n>]{0,200}>            # PS C:\Users>
      | PS>)\s*""",
    re.VERBOSE,
)
_ROOT_PROMPT = re.compile(r"^[ \t]*#[ \t]+(?=\S)", re.MULTILINE)
_MAX_QUOTE_DEPTH = 9  # '> > > ' of mails
_MAX_COMMENT_LINE = 2000  # longer lines are not searched for a comment
_CONTINUATION_PROMPT = re.compile(r"(?<=\\\n)[ \t]*>{1,2}[ \t]")  # the shell's own, in every line after the first
_CONTINUED = re.compile(r"^(?:[^\n]*\\\n)+[^\n]*", re.MULTILINE)
_FLAG_LINE = re.compile(r"\s*--?[A-Za-z]")
_ARRAY_START = re.compile(r"(?:^|\s)[A-Za-z_]\w{0,60}\+?=\(")
_LINE_COMMENT = re.compile(r"(?:^|\s)#(?:\s[^'\"]*)?$")
_CODE_SPAN = re.compile(
    r"`((?:[A-Z_]+=[^\s`]+ )*(?:vllm serve|python[\d.]* -m (?:vllm|sglang)|sglang serve"
    r"|(?:[^\s`]*[/\\])?llama-server(?:\.exe)?|trtllm-serve|(?:docker|podman) run)\s[^`\n]*)`"
)
_WINDOWS = re.compile(r"\.exe\b|(?<![^\s'\"=])[A-Za-z]:\\\w")
_BARE_BACKSLASH = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|(?<!\\)\\(?=[\w.])")  # text in quotes is skipped
_FOREIGN_ASSIGNMENT = re.compile(
    r"^[ \t]*(?:\$env:|Environment=[\"']?|ENV[ \t]+)(\w+)[ \t]*=[ \t]*(.*?)[ \t]*$", re.MULTILINE
)
_FOREIGN_COMMAND = re.compile(r"^[ \t]*ExecStart=[-@:+!]*", re.MULTILINE)
_SERVER_LINE = re.compile(
    r"\bvllm\s+serve\b|-m\s+(?:vllm|sglang|tensorrt_llm)|\bsglang\s+serve\b|llama-server|trtllm-serve"
    r"|\b(?:docker|podman|nerdctl)\s+(?:container\s+)?(?:run|exec)\b|launch-cluster\.sh|run-recipe\.sh"
)


def clean(text: str, notes: Notes, keeps_prose: bool = False) -> str:
    """Return the paste as a shell script or YAML document; raises PasteRefusedError if nothing is left.

    `keeps_prose`: also what stands outside of fenced code blocks.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    for pattern, blank, note in (
        (_ESCAPES, "", "terminal escape sequences were removed"),
        (_CONTROLS, "", "control characters were removed"),
        (_INVISIBLE, "", "invisible characters (zero-width or direction marks) were removed"),
        (_BLANKS, " ", "no-break spaces were replaced by spaces"),
    ):
        text = _replace(pattern, blank, text, note, notes)
    if not text.strip():
        raise PasteRefusedError("The paste is empty.")
    text = rewrite_printed_lists(rewrite_json(straighten(unwrap_markdown(text, notes, keeps_prose), notes)))
    for invocation in INVOCATIONS.values():
        text = invocation.rewrite_file(text) if invocation.rewrite_file else text
    text = rewrite_batch(rewrite_makefile(rewrite_python(rewrite_dockerfile(text, notes))), notes)
    text = rewrite_foreign_syntax(
        rewrite_nix(rewrite_systemd_unit(rewrite_quadlet(rewrite_fish(rewrite_powershell(text)))))
    )
    return strip_prompts(join_foreign_lines(rewrite_counting_loops(text), notes))


def _replace(pattern: re.Pattern[str], replacement: str, text: str, note: str, notes: Notes) -> str:
    text, count = pattern.subn(replacement, text)
    if count:
        notes.add(notes.repaired, note)
    return text


def straighten(text: str, notes: Notes) -> str:
    """Replace typographic quotes and dashes and HTML entities by the typed characters."""
    before = text
    for entity, character in _ENTITIES.items():
        text = text.replace(entity, character)
    if text != before:
        notes.add(notes.repaired, "HTML entities such as &quot; were replaced")
    before, text = text, _APOSTROPHE.sub("\0", _CURLY_JSON.sub(r"'\1'", text)).translate(_CURLY).replace("\0", "’")
    if text != before:
        notes.add(notes.repaired, "curly quotes were replaced by straight ones")
    before, text = text, _DASH.sub(_dash, text)
    if text != before:
        notes.add(notes.repaired, "long dashes were replaced by hyphens")
    return text


def _dash(match: re.Match[str]) -> str:
    if not match[1]:  # a dash between words of prose
        return match[0]
    is_short_flag = match[0] in "‐‑−" or not match[2]
    return "-" if is_short_flag and len(match[0]) == 1 else "--"


def unwrap_markdown(text: str, notes: Notes, keeps_prose: bool = False) -> str:
    """Remove the '> ' of quoted mail, and keep only the contents of fenced code blocks, if any."""
    lines = text.split("\n")
    for _ in range(_MAX_QUOTE_DEPTH):
        if not all(_QUOTED_LINE.match(line) for line in lines if line.strip()):
            break
        lines = [_QUOTED_LINE.sub("", line, count=1) for line in lines]
    fences = [i for i, line in enumerate(lines) if _FENCE.match(line)]
    if fences:
        code_lines: list[str] = []
        for start, end in zip(fences[::2], [*fences[1::2], len(lines)], strict=False):
            code_lines += [*lines[start + 1 : end], ""]
        if not keeps_prose and any(line.strip() for line in code_lines):
            outside_count = (
                len([line for line in lines if line.strip()]) - len(fences) - len([x for x in code_lines if x.strip()])
            )
            if outside_count > 0:
                notes.add(notes.left_out, AROUND_CODE)
            lines = code_lines
        else:
            lines = [line for line in lines if not _FENCE.match(line)]
    return "\n".join(_without_code_ticks(line) for line in lines)


def _without_code_ticks(line: str) -> str:
    stripped = line.strip()
    is_code = len(stripped) > 2 and stripped[0] == stripped[-1] == "`" and stripped.count("`") == 2
    return stripped[1:-1] if is_code else line


def join_foreign_lines(text: str, notes: Notes) -> str:
    """Convert continuations of PowerShell (`), CMD (^) and flattened pastes to backslashes at line ends."""
    if re.search(r"(?:^|\s)`[ \t]*(?:\n|>>|-|$)", text):
        text = _replace(
            re.compile(r"(?<=\s)`[ \t]*(?:\n[ \t]*)?(?:>>[ \t]?)"), "\\\n", text, "PowerShell lines joined", notes
        )
        text = _replace(re.compile(r"(?<=\s)`(?:[ \t]*\n|[ \t]+(?=-))"), "\\\n", text, "PowerShell lines joined", notes)
    text = _replace(re.compile(r"(?<=\s)\^[ \t]*\n"), "\\\n", text, "CMD lines joined", notes)
    text = _replace(re.compile(r"\\[ \t]+(?=\n|$)"), r"\\", text, "spaces after a backslash were removed", notes)
    text = _replace(re.compile(r"\\[ \t]+#[^\n]*(?=\n)"), r"\\", text, "a comment after a backslash was removed", notes)
    text = _replace(
        re.compile(r"(?<=\s)\\[ \t]+(?=\S)"), " ", text, "missing line breaks after backslashes were repaired", notes
    )
    return _CONTINUED.sub(_without_continuation_prompts, text)


def _without_continuation_prompts(match: re.Match[str]) -> str:
    """A continued command without the shell's prompts; a `>` in some of its lines redirects the output."""
    text, count = _CONTINUATION_PROMPT.subn("", match[0])
    return text if count == match[0].count("\\\n") else match[0]


def rewrite_foreign_syntax(text: str) -> str:
    """Convert Windows paths, PowerShell's `$env:A=`, and lines of systemd units and Dockerfiles to POSIX shell."""
    text = _CODE_SPAN.sub(r"\n\1\n", escape_windows_paths(text))
    text = _FOREIGN_ASSIGNMENT.sub(_export_line, text)
    return _FOREIGN_COMMAND.sub("", text)


def escape_windows_paths(text: str) -> str:
    """Double the single backslashes of a text with Windows paths, which a POSIX shell would remove."""
    if not _WINDOWS.search(text):
        return text
    return _BARE_BACKSLASH.sub(lambda match: match[0] if match[0] != "\\" else "\\\\", text)


def _export_line(match: re.Match[str]) -> str:
    value = match[2]
    is_torn = value[-1:] in ("'", '"') and value[:1] != value[-1:]  # Environment="A=b"
    return f"export {match[1]}={value[:-1] if is_torn else value}"


def strip_prompts(text: str) -> str:
    """Remove shell prompts at line starts."""
    return "\n".join(line[match.end() :] if (match := _PROMPT.match(line)) else line for line in text.split("\n"))


def uncomment(text: str) -> str:
    """Remove '# ' at line starts, as root's prompt instead of a comment."""
    return _ROOT_PROMPT.sub("", text)


def join_lost_lines(text: str, takes: FlagTest, notes: Notes) -> str:
    """Join lines of a server's command that lost their backslash, were cut by the terminal, or contain a comment."""
    joined: list[str] = []
    is_inside = False  # of a server's command
    is_array = False  # `ARGS=(`, whose lines need no backslash
    for line in text.split("\n"):
        previous = joined[-1] if joined else ""
        is_continued = previous.endswith("\\")
        if is_inside and line.lstrip().startswith("#") and (is_continued or not line.strip("# ")):
            notes.add(notes.left_out, line.strip().rstrip("\\").rstrip())
            continue
        if is_inside and not is_continued and previous.strip():
            separator = _cut_between(previous, line, takes)
            if separator is not None:
                joined[-1] = previous.rstrip() + separator + line
                notes.add(notes.repaired, f"a line cut in two at {previous.split()[-1]} was rejoined")
                continue
            if _FLAG_LINE.match(line):
                bare = _LINE_COMMENT.sub("", previous) if len(previous) < _MAX_COMMENT_LINE else previous
                joined[-1] = bare.rstrip() + " \\"
                notes.add(notes.repaired, "a missing backslash at a line's end was added")
                is_continued = True
        is_array = _closes_later(line) if _ARRAY_START.search(line) else is_array and not line.lstrip().startswith(")")
        is_inside = bool(_SERVER_LINE.search(line)) or (is_inside and (is_continued or not line.strip()))
        is_inside = is_inside and not is_array
        joined.append(line)
    return "\n".join(joined)


def _closes_later(line: str) -> bool:
    """Return whether the array that a line opens goes on in the next one."""
    return line.count("(") > line.count(")")


def _cut_between(previous: str, line: str, takes: FlagTest) -> str | None:
    """The lost separator ('' or a space) if the first line ends in half a flag or a flag without its value."""
    if line[:1].isspace() or not re.match(r"[\w./$'\"{=-]", line):
        return None
    last, first = previous.split()[-1], line.split(maxsplit=1)[0]
    if not last.startswith("-") or first.startswith("-"):
        return None
    if takes(last) is None and takes((last + first).partition("=")[0]):
        return ""
    return " " if takes(last) == "value" else None
