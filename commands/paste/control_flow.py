"""Follows the branches and loops of a script: what is assigned in them depends on a condition."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from commands.paste.braces import TooManyWordsError
from commands.paste.shell import Command, Word
from commands.paste.variables import Outcome, Record, Variables

MAX_BLOCKS = 50  # nested
MAX_CONDITION = 120  # characters of a condition in a note
CONDITIONS = frozenset({"[", "[[", "test", "(("})
LOOPS = frozenset({"for", "while", "until", "select"})
_IGNORED = frozenset({"!", "eval"})
_CHAIN = "&&"  # the end of `[ … ] && command`
_CLOSINGS = {"fi": "fi", "done": "done", "esac": "esac", "}": "}"}


@dataclass
class Block:
    """An open block, and what its branches so far assigned."""

    closing: str  # 'fi', 'done', 'esac', '}', or `_CHAIN`
    head: str = ""  # of a loop or `case`
    start: int = 0  # of the condition in the text
    outcomes: list[Outcome] = field(default_factory=list)
    condition: str | None = None  # of the branch that is open
    record: Record | None = None  # likewise: what its names held before it
    is_exhaustive: bool = False  # exactly one of its branches runs
    is_abandoned: bool = False  # the open branch ends the script
    subject: str | None = None  # of `case`: its value, where the script assigns it
    choice: str | None = None  # of `case`: the condition of the branch with that value
    awaits_pattern: bool = False  # of `case`
    loop_words: Sequence[Word] | None = None
    loop_name: str = ""


class ControlFlow:
    """Keeps the open blocks of one script, and tells the variables what depends on a condition."""

    def __init__(self, variables: Variables, text: str) -> None:
        self._variables, self._text = variables, text
        self._blocks: list[Block] = []
        self._previous: Command | None = None

    def enter(self, command: Command) -> Sequence[Word]:
        """Follow the keywords that begin a command, and return the words after them."""
        self._follow_chain(command)
        words: Sequence[Word] = command.words
        block = self._top
        if block and block.awaits_pattern and (not words or words[0].text != "esac"):
            self._take_pattern(block, command, words)
            words = ()
        while words and (rest := self._follow_keyword(command, words)) is not None:
            words = rest
        self._previous = command
        return words

    def leave(self, command: Command, words: Sequence[Word]) -> None:
        """Follow the end of a command: `;;` ends a branch, `exit` the script."""
        block = self._top
        if block and words and words[0].text in ("exit", "return"):
            block.is_abandoned = True
        block = next((block for block in reversed(self._blocks) if block.closing != _CHAIN), None)
        if block and block.closing == "esac" and command.ends_with == ";;":
            self._close_chains()
            self._end_branch(block)
            block.awaits_pattern = True

    @property
    def is_unconditional(self) -> bool:
        """Whether a command here runs whatever the script's conditions are."""
        return not self._blocks

    @property
    def loop_head(self) -> str | None:
        """The head of the innermost open loop that runs more than once; None outside of such a loop."""
        loops = (block for block in reversed(self._blocks) if block.closing == "done" and not block.is_exhaustive)
        return next((block.head for block in loops), None)

    def finish(self) -> None:
        """Close the blocks that the text leaves open."""
        while self._blocks:
            self._close(self._blocks[-1])

    @property
    def _top(self) -> Block | None:
        return self._blocks[-1] if self._blocks else None

    def _follow_chain(self, command: Command) -> None:
        operator, previous, block = command.preceding_operator, self._previous, self._top
        is_chain = block is not None and block.closing == _CHAIN
        if operator not in ("&&", "||"):
            self._close_chains()
        elif block and is_chain and operator == "||" and len(block.outcomes) == 0 and block.head == "&&":
            self._begin_branch(block, "otherwise")
            block.is_exhaustive = True
        elif not is_chain and previous and (operator == "||" or self._is_condition(previous)):
            text = self._text_between(previous.start, previous.end)
            chain = self._open(Block(_CHAIN, head=operator))
            if chain:
                self._begin_branch(chain, f"{'if' if operator == '&&' else 'unless'} {_bare(text)}")

    @staticmethod
    def _is_condition(command: Command) -> bool:
        skipped = _IGNORED | {"if", "elif", "then", "else", "do", "{", "while", "until"}
        first = next((word.text for word in command.words if word.text not in skipped), "")
        return first in CONDITIONS

    def _close_chains(self) -> None:
        while self._blocks and self._blocks[-1].closing == _CHAIN:
            self._close(self._blocks[-1])

    def _follow_keyword(self, command: Command, words: Sequence[Word]) -> Sequence[Word] | None:
        """The words after a keyword; None if the first word is none."""
        word = words[0].text
        if word in _IGNORED:
            return words[1:]
        if word == "if":
            self._open(Block("fi", start=self._text.find("if", command.start)))
        elif word in LOOPS:
            self._open_loop(command, words)
            return ()
        elif word == "case":
            return self._open_case(command, words)
        elif word == "{":
            self._open(Block("}"))
        elif word in _CLOSINGS:
            self._close_until(_CLOSINGS[word])
            return words[1:] if word == "}" else ()
        elif word in ("then", "elif", "else", "do"):
            self._follow_branch(command, word)
        else:
            return None
        return words[1:]

    def _follow_branch(self, command: Command, word: str) -> None:
        block = self._top
        if block is None or block.closing != ("done" if word == "do" else "fi"):
            return
        if word == "then":
            self._begin_branch(block, f"if {_bare(self._text_between(block.start, command.start))}")
        elif word == "elif":
            self._end_branch(block)
            block.start = self._text.find("elif", command.start) + len("el")
        elif word == "else":
            self._begin_branch(block, "otherwise")
            block.is_exhaustive = True
        else:
            self._begin_branch(block, f"in the loop `{block.head}`")
            self._assign_loop_name(block)

    def _open_loop(self, command: Command, words: Sequence[Word]) -> None:
        block = Block("done", head=self._text_between(command.start, command.end))
        if words[0].text == "for" and len(words) > 2 and words[2].text == "in":
            block.loop_name, block.loop_words = words[1].text, words[3:]
        self._open(block)

    def _assign_loop_name(self, block: Block) -> None:
        if block.loop_words is None:
            return
        loop_words = block.loop_words
        with suppress(TooManyWordsError):
            loop_words = self._variables.braces.expand(loop_words)
        texts = [item.text for item in self._variables.expand_words(loop_words)]
        block.is_exhaustive = len(texts) == 1 and not set("$*?[") & set(texts[0])
        if block.is_exhaustive:
            self._variables.set_text(block.loop_name, texts[0])
        else:
            self._variables.set_candidates(block.loop_name, texts, f"in the loop `{block.head}`")

    def _open_case(self, command: Command, words: Sequence[Word]) -> Sequence[Word]:
        subject = words[1].text if len(words) > 1 else ""
        block = self._open(Block("esac", head=subject, subject=self._value_of(words[1]) if subject else None))
        if block is None:
            return ()
        block.awaits_pattern = True
        if len(words) > 3:
            self._take_pattern(block, command, words[3:])
        return ()

    def _value_of(self, word: Word) -> str | None:
        """The value of a word that no condition decides; None if the script does not assign it."""
        parts = [part for part in word.parts if part.text]
        value = self._variables.value_of(parts[0]) if len(parts) == 1 and parts[0].is_reference else ""
        return value if value and "$" not in value else None

    def _take_pattern(self, block: Block, command: Command, words: Sequence[Word]) -> None:
        if words:
            block.loop_words = [*(block.loop_words or ()), *words]
        if command.ends_with == ")" and block.loop_words:
            pattern = "|".join(word.text for word in block.loop_words)
            block.loop_words, block.awaits_pattern = None, False
            condition = "otherwise" if pattern == "*" else f"if {block.head} is {pattern}"
            self._begin_branch(block, condition)
            if block.subject and block.choice is None and _matches(block.subject, pattern):
                block.choice = condition
            block.is_exhaustive |= pattern == "*"

    def _open(self, block: Block) -> Block | None:
        if len(self._blocks) >= MAX_BLOCKS:
            return None
        self._blocks.append(block)
        return block

    def _begin_branch(self, block: Block, condition: str) -> None:
        self._end_branch(block)
        block.condition, block.record = condition, self._variables.begin_record()

    def _end_branch(self, block: Block) -> None:
        if block.record is None or block.condition is None:
            return
        states = self._variables.end_record(block.record)
        if not block.is_abandoned:
            block.outcomes.append(Outcome(block.condition, states))
        block.condition, block.record, block.is_abandoned = None, None, False

    def _close_until(self, closing: str) -> None:
        if any(block.closing == closing for block in self._blocks):
            while self._blocks and self._blocks[-1].closing != closing:
                self._close(self._blocks[-1])
            self._close(self._blocks[-1])

    def _close(self, block: Block) -> None:
        self._end_branch(block)
        self._blocks.pop()
        running_branch = next((outcome for outcome in block.outcomes if outcome.condition == block.choice), None)
        self._variables.merge(block.outcomes, block.is_exhaustive, running_branch)

    def _text_between(self, start: int, end: int) -> str:
        text = " ".join(self._text[start : min(end, start + 4 * MAX_CONDITION)].split()).rstrip("; ")
        return text if len(text) <= MAX_CONDITION else text[:MAX_CONDITION] + " …"


def _matches(value: str, pattern: str) -> bool:
    """Whether a pattern of `case` names a value: 'on|yes', 'mtp*'."""
    return any(fnmatchcase(value, part.strip("\"'")) for part in pattern.split("|"))


def _bare(condition: str) -> str:
    """A condition without its keywords."""
    for keyword in ("then ", "else ", "do ", "{ ", "if ", "elif "):
        condition = condition.removeprefix(keyword)
    return condition
