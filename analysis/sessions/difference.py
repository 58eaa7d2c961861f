"""The first part in which a prompt differs from the one before it, and how many tokens stand before that part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from typing import NamedTuple

from analysis.sessions.prompt_part import PIECE_BYTES, PartKind, PromptPart

Parts = Sequence[PromptPart]
MESSAGE = "message"
GROUP_ORDER = ("setting", "tool", "system", MESSAGE)


class Change(StrEnum):
    """What happened to the part."""

    CHANGED = "changed"
    SHORTENED = "shortened"
    ADDED = "added"
    REMOVED = "removed"
    REORDERED = "reordered"


@dataclass(frozen=True, slots=True)
class PartDifference:
    """The first part that differs.

    number: its place among the parts of its group (settings, tools, system blocks, blocks of messages), from 1, of
    which there are `count`. equal_bytes: from its beginning, in whole pieces.
    """

    change: Change
    kind: PartKind
    name: str | None
    number: int
    count: int
    equal_bytes: int = 0


class TokenRange(NamedTuple):
    """Estimated tokens, at least and at most."""

    low: float
    high: float


def group_of(part: PromptPart) -> str:
    """Return the part's group, one of GROUP_ORDER."""
    return MESSAGE if part.is_message else part.kind.value


def broken_groups(before: Parts, after: Parts) -> list[str]:
    """Return the groups whose parts differ, in the order of the prompt.

    Appended messages are no difference, and neither is another way that the messages take from some part on: a branch.
    """
    return [
        group
        for group in GROUP_ORDER
        if (_is_broken if group == MESSAGE else _differs)(_of_group(before, group), _of_group(after, group))
    ]


def _differs(before: Parts, after: Parts) -> bool:
    return list(before) != list(after)


def _is_broken(before: Parts, after: Parts) -> bool:
    """Whether messages differ in a part behind which both prompts go on with the same parts."""
    place = equal_parts(before, after)
    return bool(_digests(before[place:]) & _digests(after[place:]))


def takes_another_way(before: Parts, after: Parts) -> bool:
    """Whether the later messages leave those of the earlier prompt for good, as a retry or a side question does."""
    old, new = _of_group(before, MESSAGE), _of_group(after, MESSAGE)
    return equal_parts(old, new) < len(old) and not _is_broken(old, new)


def without_new_branch(before: Parts, after: Parts) -> list[PromptPart]:
    """Return the later prompt without the messages of a way that it does not share with the earlier one."""
    if MESSAGE in broken_groups(before, after):
        return list(after)
    old, new = _of_group(before, MESSAGE), _of_group(after, MESSAGE)
    return [part for part in after if not part.is_message] + new[: equal_parts(old, new)]


def _of_group(parts: Parts, group: str) -> list[PromptPart]:
    return [part for part in parts if group_of(part) == group]


def difference_in(group: str, before: Parts, after: Parts) -> PartDifference:
    """Return the first difference within a group that differs."""
    old, new = _of_group(before, group), _of_group(after, group)
    place = equal_parts(old, new)
    old_part, new_part = (parts[place] if place < len(parts) else None for parts in (old, new))
    change, part, count = _change(old, new, old_part, new_part)
    equal_bytes = 0
    if change in (Change.CHANGED, Change.SHORTENED) and old_part and new_part:
        equal_bytes = equal_parts(old_part.pieces, new_part.pieces) * PIECE_BYTES
    return PartDifference(change, part.kind, part.name, place + 1, count, equal_bytes)


def _change(
    old: Parts, new: Parts, old_part: PromptPart | None, new_part: PromptPart | None
) -> tuple[Change, PromptPart, int]:
    """Return the change, the part that shows it and the number of parts that its place is counted in."""
    if old_part is None or new_part is None:
        part = old_part or new_part
        assert part is not None
        return (Change.REMOVED, part, len(old)) if new_part is None else (Change.ADDED, part, len(new))
    if sorted(part.digest for part in old) == sorted(part.digest for part in new):
        return Change.REORDERED, new_part, len(new)
    is_old_gone, is_new_new = old_part not in new, new_part not in old
    if is_new_new and not is_old_gone:
        return Change.ADDED, new_part, len(new)
    if is_old_gone and not is_new_new:
        return Change.REMOVED, old_part, len(old)
    is_shorter = new_part.kind is old_part.kind and new_part.size_bytes < old_part.size_bytes
    return (Change.SHORTENED if is_shorter and new_part.is_message else Change.CHANGED), new_part, len(new)


def equal_parts(before: Sequence[object], after: Sequence[object]) -> int:
    """Return how many leading entries are equal."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))


def tokens_before(difference: PartDifference, group: str, parts: Parts, prompt_tokens: int) -> TokenRange | None:
    """Estimate the tokens before the first difference by bytes; None if an image hides how bytes become tokens.

    Templates write tools before or after the system text, or leave them out: the range covers all three. A setting
    changes the prompt from its beginning on, or the cache that the server looks into.
    """
    if any(part.kind is PartKind.IMAGE for part in parts):
        return None
    if group == PartKind.SETTING:
        return TokenRange(0, 0)
    by_group = {name: _of_group(parts, name) for name in ("tool", "system", "message")}
    inside = _bytes(by_group[group][: difference.number - 1]) + difference.equal_bytes
    tools, system = _bytes(by_group["tool"]), _bytes(by_group["system"])
    prompt_bytes = max(1, tools + system + _bytes(by_group["message"]))
    toolless = max(1, prompt_bytes - tools)
    # bytes before the difference and of the whole prompt, one pair for each way of writing it
    ways = {
        "message": [(tools + system + inside, prompt_bytes), (system + inside, toolless)],
        "system": [(inside, prompt_bytes), (tools + inside, prompt_bytes), (inside, toolless)],
        "tool": [(inside, prompt_bytes), (system + inside, prompt_bytes)],
    }[group]
    piece = PIECE_BYTES if difference.change in (Change.CHANGED, Change.SHORTENED) else 0
    return TokenRange(
        prompt_tokens * min(before / total for before, total in ways),
        prompt_tokens * min(1.0, max((before + piece) / total for before, total in ways)),
    )


def _digests(parts: Iterable[PromptPart]) -> set[str]:
    return {part.digest for part in parts}


def _bytes(parts: Iterable[PromptPart]) -> int:
    return sum(part.size_bytes for part in parts)


def lost_share(before: Parts, after: Parts) -> float:
    """Return the share of the earlier prompt, by bytes, that the later one no longer has.

    The first part that differs counts as lost only as far as it became shorter.
    """
    later_digests = _digests(after)
    place = equal_parts(before, after)
    lost_bytes, prompt_bytes = 0, 0
    for number, part in enumerate(before):
        if part.kind in (PartKind.SETTING, PartKind.IMAGE):
            continue
        prompt_bytes += part.size_bytes
        if part.digest not in later_digests:
            successor = after[place] if number == place and place < len(after) else None
            is_same_place = successor is not None and group_of(successor) == group_of(part)
            lost_bytes += max(0, part.size_bytes - (successor.size_bytes if successor and is_same_place else 0))
    return lost_bytes / prompt_bytes if prompt_bytes else 0.0
