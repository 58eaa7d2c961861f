"""The variables of a paste: assigned ones are substituted, other references stay as written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from commands.paste.arithmetic import arithmetic_names, compute
from commands.paste.braces import BraceExpander
from commands.paste.files import WrittenFiles
from commands.paste.notes import Notes
from commands.paste.shell import Word, WordPart, split_references
from commands.paste.text_operations import apply_operation, text_operation
from commands.quoting import without_quotes
from commands.secrets import values_of
from redaction import is_secret_name

MAX_VALUE_LENGTH = 20_000  # characters; longer values stay references
MAX_DEPTH = 5  # defaults within defaults
MOST_ALTERNATIVES = 8  # of one name
MOST_ITEMS = 5000  # of one array
MOST_EXPORT_NOTES = 20
MAX_ALTERNATIVE = 300  # characters of an alternative in a note
_BRACED = re.compile(r"\$\{(\w+)(?:\[([^\]\n]*)\])?(?:(:?[-=+?])(.*))?\}$", re.DOTALL)
_BARE = re.compile(r"\$([A-Za-z_]\w*|\d)$")
_ARRAY = re.compile(
    r"\$\{(\w+)\[[@*]\](?::?-|:?\+\"?\$\{\1\[[@*]\]\}\"?)?\}$"  # `${A[@]+"${A[@]}"}` guards against an empty array
)
_ALL_PARAMETERS = frozenset({"$@", "$*", "${@}", "${*}"})
PARAMETERS = "@"  # the name of the words that a function is called with
_COMPUTED = re.compile(r"\$\(|`")
_PLACEHOLDER = re.compile(r"<[A-Za-z][\w ./:-]*>")
_PARAMETERS_FROM = re.compile(r"\$\{[@*]:(\d)\}$")
_SUBSCRIPT = re.compile(r"\[([^\]\n]+)\]=")


class Arg(NamedTuple):
    """A word as written, and with the paste's variables expanded."""

    raw: str
    text: str


class Alternative(NamedTuple):
    """What a name may hold instead: a text, the items of an array, or nothing."""

    condition: str  # 'if [ "$LONG" = 1 ]'
    text: str | None
    items: tuple[str, ...] | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The words that it stands for."""
        return self.items if self.items is not None else tuple((self.text or "").split())

    @property
    def sentence(self) -> str:
        """The value and its condition."""
        value = " ".join(self.words) if self.items is not None or self.text else "unset" if self.text is None else '""'
        return f"{_shorten(value)} {self.condition}".strip()


class State(NamedTuple):
    """What a name holds, and what it may hold instead."""

    text: str | None = None
    items: tuple[str, ...] | None = None
    exported: str | None = None  # as written
    alternatives: tuple[Alternative, ...] = ()
    caveats: tuple[str, ...] = ()  # warnings about the values that it was made from
    is_partial: bool = False  # only what all alternatives have in common
    references: tuple[str, ...] = ()  # without a value, in what was assigned

    @property
    def words(self) -> tuple[str, ...]:
        """The words that it stands for."""
        return self.items if self.items is not None else tuple((self.text or "").split())

    @property
    def is_certain(self) -> bool:
        """Whether the name has a value that no condition decides."""
        return self.text is not None or self.items is not None


Record = dict[str, State]  # what names held before a branch


class Outcome(NamedTuple):
    """What a branch leaves in the names that it assigned."""

    condition: str
    states: Record


def arg(text: str) -> Arg:
    """Return a word whose expanded text equals its written text."""
    return Arg(text, text)


def is_computed(text: str) -> bool:
    """Whether a shell would have to compute the value: '$(date)', '$((N+1))'."""
    return bool(_COMPUTED.search(text))


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_ALTERNATIVE else text[:MAX_ALTERNATIVE] + " …"


@dataclass
class Variables:
    """The variables assigned so far, and the exported ones among them."""

    notes: Notes
    values: dict[str, str] = field(default_factory=dict)
    arrays: dict[str, tuple[str, ...]] = field(default_factory=dict)
    exported: dict[str, str] = field(default_factory=dict)  # as written
    alternatives: dict[str, tuple[Alternative, ...]] = field(default_factory=dict)
    caveats: dict[str, tuple[str, ...]] = field(default_factory=dict)
    partial: dict[str, bool] = field(default_factory=dict)
    references: dict[str, tuple[str, ...]] = field(default_factory=dict)
    export_notes: list[str] = field(default_factory=list)  # of exports that depend on a condition
    computed_exports: dict[str, str] = field(default_factory=dict)  # as written; only a shell knows the values
    braces: BraceExpander = field(default_factory=BraceExpander)
    secrets: set[str] = field(default_factory=set)  # values of secret names and flags
    files: WrittenFiles = field(default_factory=WrittenFiles)
    exports_all: bool = False  # `set -a`
    _records: list[Record] = field(default_factory=list)

    def copy(self, notes: Notes) -> Variables:
        """Return the variables for a shell within the shell; it exports nothing yet."""
        return Variables(
            notes,
            dict(self.values),
            dict(self.arrays),
            alternatives=dict(self.alternatives),
            caveats=dict(self.caveats),
            partial=dict(self.partial),
            references=dict(self.references),
            braces=self.braces,
            secrets=self.secrets,
            files=self.files,
        )

    # --- states
    def state(self, name: str) -> State:
        """Return what a name holds."""
        return State(
            self.values.get(name),
            self.arrays.get(name),
            self.exported.get(name),
            self.alternatives.get(name, ()),
            self.caveats.get(name, ()),
            name in self.partial,
            self.references.get(name, ()),
        )

    def set_state(self, name: str, state: State) -> None:
        """Let a name hold this, and nothing else."""
        if self._records:
            self._records[-1].setdefault(name, self.state(name))
        mappings: tuple[dict[str, Any], ...] = (self.values, self.arrays, self.exported)
        for mapping in (*mappings, self.alternatives, self.caveats, self.partial, self.references):
            mapping.pop(name, None)
        if state.text is not None:
            self.values[name] = state.text
        if state.items is not None:
            self.arrays[name] = state.items
        if state.exported is not None:
            self.exported[name] = state.exported
        if state.alternatives:
            self.alternatives[name] = state.alternatives
        if state.caveats:
            self.caveats[name] = state.caveats
        if state.is_partial:
            self.partial[name] = True
        if state.references:
            self.references[name] = state.references

    def begin_record(self) -> Record:
        """Begin a branch: record what its names held before."""
        self._records.append({})
        return self._records[-1]

    def end_record(self, record: Record) -> Record:
        """End a branch: give its names their former states, and return those that it left."""
        while self._records and self._records.pop() is not record:
            pass
        states = {name: self.state(name) for name in record}
        for name, state in record.items():
            if self._records:
                self._records[-1].setdefault(name, state)
            self.set_state(name, state)
        return states

    def merge(self, outcomes: Sequence[Outcome], is_exhaustive: bool, running_branch: Outcome | None = None) -> None:
        """Take over what the branches of a block left; `is_exhaustive`: one of them runs.

        `running_branch`: the branch that runs with the values so far; the others stay as alternatives.
        """
        for name in dict.fromkeys(name for outcome in outcomes for name in outcome.states):
            base = self.state(name)
            ways = [(outcome.condition, outcome.states.get(name, base)) for outcome in outcomes]
            if running_branch:
                base = running_branch.states.get(name, base)
            if not is_exhaustive:
                ways.append(("otherwise", base))
            self._note_exports(name, base, ways)
            self.set_state(name, _merged(base, ways))

    def _note_exports(self, name: str, base: State, ways: Sequence[tuple[str, State]]) -> None:
        for condition, state in ways:
            if state.exported not in (None, base.exported) and len(self.export_notes) < MOST_EXPORT_NOTES:
                self.export_notes.append(
                    f"the environment variable {name} is {_shorten(str(state.exported))} {condition}"
                )

    def environment_notes(self, env: Mapping[str, str]) -> list[str]:
        """Return what is uncertain of the exported variables, of which the server gets `env`."""
        missing = [(name, text) for name, text in self.computed_exports.items() if name not in env]
        return self.export_notes + [
            f"the environment variable {name} is left out: only a shell knows {_shorten(text)}"
            for name, text in missing[:MOST_EXPORT_NOTES]
        ]

    # --- assignments
    def set_text(self, name: str, text: str | None, caveats: tuple[str, ...] = ()) -> None:
        """Let a name hold a text; None makes it unknown."""
        self.set_state(name, State(text, exported=self.exported.get(name), caveats=caveats))

    def set_candidates(self, name: str, texts: Sequence[str], condition: str) -> None:
        """Let a name hold any of these texts."""
        alternatives = [Alternative("", text) for text in dict.fromkeys(texts)][:MOST_ALTERNATIVES]
        if alternatives:
            alternatives[-1] = alternatives[-1]._replace(condition=condition)
        self.set_state(name, State(alternatives=tuple(alternatives)))

    def assign(self, name: str, value: Word) -> None:
        """Assign NAME=value; computed values stay unknown."""
        before = self.state(name)
        text, caveats, references = self._assigned_text(name, value)
        alternatives: list[Alternative] = []
        if before.alternatives and _refers_to(value, name):
            for alternative in before.alternatives:
                self.set_state(name, State(alternative.text or "", alternative.items))
                alternatives.append(Alternative(alternative.condition, self._assigned_text(name, value)[0]))
            text = text if before.is_certain else None
        exported = value.text if self.exports_all and not is_computed(value.text) else before.exported
        own_caveats = () if alternatives else caveats
        is_partial = before.is_partial and bool(alternatives)
        self.set_state(name, State(text, None, exported, tuple(alternatives), own_caveats, is_partial, references))
        if self.exports_all:
            self.note_references(name)

    def note_references(self, name: str) -> None:
        """Note the references without a value in what a name was assigned, because the server gets it."""
        for reference in self.references.get(name, ()):
            self.notes.add(self.notes.unresolved, reference)

    def _assigned_text(self, name: str, value: Word) -> tuple[str | None, tuple[str, ...], tuple[str, ...]]:
        """The text that an assignment gives a name, None if only a shell knows it; the warnings, and the references."""
        outer_notes, self.notes = self.notes, Notes()
        text = self.expand(value)
        value_notes, self.notes = self.notes, outer_notes
        if is_secret_name(name):
            self.secrets.add(text)
        references = tuple(value_notes.unresolved)
        refers_to_itself = re.search(rf"(?<!\\)\$\{{?{re.escape(name)}\b", text)
        if self._is_computed(value) or refers_to_itself or len(text) > MAX_VALUE_LENGTH:
            return None, (), references
        return text, tuple(value_notes.warnings), references

    def _is_computed(self, value: Word) -> bool:
        """Whether only a shell knows the value: '$(date)', but not the same characters in single quotes."""
        outer_notes, self.notes = self.notes, Notes()
        is_any_computed = any(is_computed(self._expand_part(part)) for part in value.parts if part.is_reference)
        self.notes = outer_notes
        return is_any_computed

    def assign_array(self, name: str, words: Sequence[Word]) -> None:
        """Assign NAME=(words), or NAME+=(words), whose first word stands for the items before."""
        if words and all(_SUBSCRIPT.match(word.text) for word in words):
            for word in words:
                self._assign_entry(name, word)
            return
        before = self.state(name)
        is_growing = bool(words) and words[0].text == f"${{{name}[@]}}"
        if is_growing and before == State():  # an array never comes from the environment
            words, is_growing = words[1:], False
        items, caveats = self._array_items(words[is_growing:])
        alternatives: list[Alternative] = []
        if is_growing:
            alternatives = [Alternative(way.condition, None, way.words + items) for way in before.alternatives]
            items = (before.items or before.words) + items
            caveats = before.caveats + caveats
        if len(items) > MOST_ITEMS:
            self.forget(name, f"more than {MOST_ITEMS} words")
            return
        known_items = items if before.is_certain or not alternatives else None
        is_partial = before.is_partial and bool(alternatives)
        self.set_state(
            name, State(None, known_items, None, tuple(alternatives), caveats[:MOST_ALTERNATIVES], is_partial)
        )

    def _assign_entry(self, name: str, word: Word) -> None:
        """Assign one `[key]=value` of an associative array."""
        match = _SUBSCRIPT.match(word.text)
        if match:
            self.assign(f"{name}[{match[1]}]", Word((WordPart(word.text[match.end() :], is_quoted=True),)))

    def _array_items(self, words: Sequence[Word]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        outer_notes, self.notes = self.notes, Notes()
        items = tuple(word.text for word in self.expand_words(words))
        items_notes, self.notes = self.notes, outer_notes
        for reference in items_notes.unresolved:
            self.notes.add(self.notes.unresolved, reference)
        return items, tuple(items_notes.warnings)

    def assign_default(self, word: Word) -> None:
        """Apply `: "${NAME:=value}"`: assign NAME unless it has a value."""
        for part in word.parts:
            braced = _BRACED.match(part.text) if part.is_reference else None
            if braced and braced[3] in ("=", ":=") and braced[1] not in self.values:
                self.assign(braced[1], Word((WordPart(self.expand_text(braced[4]), is_quoted=True),)))

    def forget(self, name: str, reason: str) -> None:
        """Forget a name whose value only the running script knows; it stays a reference."""
        self.set_state(name, State(alternatives=(Alternative("", reason),)))

    def export(self, name: str, value: Word | None) -> None:
        """Apply `export NAME=value` or `export NAME`."""
        if value is not None:
            self.assign(name, value)
        text = value.text if value is not None else self.values.get(name)
        text = text and (self._arithmetic_result(text) or text)
        if text is not None and is_computed(text):
            self.computed_exports[name] = text
        elif text is not None:
            self.set_state(name, self.state(name)._replace(exported=text))
        self.note_references(name)

    # --- expansion
    def expand(self, word: Word) -> str:
        """Return the expanded word as one text."""
        return word.fill_references(self._expand_part)

    def expand_text(self, text: str, depth: int = 0) -> str:
        """Expand a text with references outside the shell (YAML)."""
        return "".join(self._expand_part(part, depth) for part in split_references(text))

    def expand_words(self, words: Iterable[Word]) -> list[Arg]:
        """Expand the words of a command; an unquoted variable with several words becomes several words."""
        args = [arg for word in words for arg in self._split(word)]
        self.secrets.update(values_of([word.text for word in args]).values())
        return args

    def _split(self, word: Word) -> Iterator[Arg]:
        if (tail := _PARAMETERS_FROM.match(word.text)) and PARAMETERS in self.arrays:
            yield from map(arg, self.arrays[PARAMETERS][int(tail[1]) - 1 :])
            return
        array = _ARRAY.match(word.text)
        name = PARAMETERS if word.text in _ALL_PARAMETERS else array[1] if array else ""
        if name and name in self.arrays:
            self._note_use(name, word.text)
            yield from map(arg, self.arrays[name])
            return
        if name == PARAMETERS or (array and name not in self.values and name in self.alternatives):
            self._note_use(name, word.text)
            return
        text = self.expand(word)
        for placeholder in _PLACEHOLDER.findall(text):
            self.notes.add(self.notes.unresolved, placeholder)
        only = word.parts[0] if len(word.parts) == 1 else None
        if only and only.is_reference and text == word.text and self._stands_for_flags(only.text):
            return
        if only and only.is_reference and not only.is_quoted and text != word.text:
            yield from map(arg, text.split())
        else:
            yield Arg(word.text, text)

    def _stands_for_flags(self, reference: str) -> bool:
        """Whether a reference without a certain value can only stand for flags, or for nothing."""
        match = _BARE.match(reference) or _BRACED.match(reference)
        if match and match.re is _BRACED and match[3] in ("+", ":+"):
            return match[4].lstrip("\"' ").startswith("-")
        texts = [" ".join(way.words) for way in self.alternatives.get(match[1], ())] if match else []
        return any(texts) and all(text.startswith("-") for text in texts if text)

    def _note_use(self, name: str, reference: str) -> None:
        """Note on what conditions the value depends that is used here."""
        for caveat in self.caveats.get(name, ()):
            self.notes.add(self.notes.warnings, caveat)
        self.note_references(name)
        state = self.state(name)
        if not state.is_certain:
            ways = "; ".join(way.sentence for way in state.alternatives)
            self.notes.add(self.notes.unresolved, f"{reference}: {ways}" if ways else reference)
            return
        for alternative in state.alternatives:
            self.notes.add(self.notes.warnings, f"{reference} {_difference(state, alternative)}")
        if state.alternatives and (state.is_partial or not state.words):
            self.notes.add(self.notes.unresolved, reference)

    def value_of(self, reference: WordPart) -> str:
        """Return the value of a reference, '' if unknown, without adding a note."""
        match = _BARE.match(reference.text) or _BRACED.match(reference.text)
        return self.values.get(match[1], "") if match else ""

    def _expand_part(self, part: WordPart, depth: int = 0) -> str:
        if not part.is_reference:
            return part.text
        if part.text.startswith("$(") and (printed := self.files.printed(part.text)) is not None:
            return printed
        if (result := self._arithmetic_result(part.text)) is not None:
            return result
        if (operation := text_operation(part.text)) and operation.name in self.values:
            operand = without_quotes(self.expand_text(operation.operand, depth + 1)) if depth < MAX_DEPTH else ""
            value = apply_operation(operation.operator, operand, self.values[operation.name])
            if value is not None:
                self._note_use(operation.name, part.text)
                return value
        bare, braced = _BARE.match(part.text), _BRACED.match(part.text)
        name = bare[1] if bare else self._name_of(braced) if braced else ""
        operator, operand = (braced[3], without_quotes(braced[4])) if braced and braced[3] else ("", "")
        if name in self.values:
            self._note_use(name, part.text)
            if operator in ("+", ":+"):
                return self.expand_text(operand, depth + 1) if self.values[name] and depth < MAX_DEPTH else ""
            if self.values[name] or not operator.startswith(":"):
                return self.values[name]
        elif bare and self.arrays.get(name):
            self._note_use(name, part.text)
            return self.arrays[name][0]
        if name not in self.values and self._note_candidates(name, part.text):
            return part.text
        if name not in self.values:
            self.note_references(name)
            self.notes.add(self.notes.unresolved, part.text)
        if operator.lstrip(":") in ("-", "=") and operator and depth < MAX_DEPTH:
            return self.expand_text(operand, depth + 1)
        return part.text

    def _arithmetic_result(self, reference: str) -> str | None:
        """The result of `$((A * B))`, if every name in it has a value."""
        names = arithmetic_names(reference)
        result = None if names is None else compute(reference, {name: self.values.get(name, "") for name in names})
        for name in names or () if result is not None else ():
            self._note_use(name, reference)
        return result

    def _name_of(self, braced: re.Match[str]) -> str:
        """The name of a reference in braces; `K[low]` for an entry of an array."""
        subscript = braced[2]
        if subscript is None or subscript in ("@", "*"):
            return braced[1]
        return f"{braced[1]}[{self.expand_text(subscript.strip(chr(34)), MAX_DEPTH)}]"

    def _note_candidates(self, name: str, reference: str) -> bool:
        """List a reference without a certain value with its candidates; False if none is known."""
        if self.alternatives.get(name):
            self._note_use(name, reference)
            return True
        array, bracket, subscript = name.partition("[")
        entries = [text for key, text in self.values.items() if key.startswith(f"{array}[")] if bracket else []
        if not entries or "$" not in subscript:
            return False
        braced = _BRACED.match(reference)
        default = [braced[4]] if braced and braced[3] in ("-", ":-") else []
        candidates = list(dict.fromkeys([*entries, *default]))[:MOST_ALTERNATIVES]
        self.notes.add(self.notes.unresolved, f"{reference}: {' or '.join(map(_shorten, candidates))}")
        return True


def _refers_to(value: Word, name: str) -> bool:
    return any(part.is_reference and re.match(rf"\$\{{?{re.escape(name)}\b", part.text) for part in value.parts)


def _merged(base: State, ways: Sequence[tuple[str, State]]) -> State:
    """What a name holds after a block, of whose branches the ways tell."""
    states = [state for _, state in ways]
    if not states or all(state == states[0] for state in states):
        return states[0] if states else base
    is_base_possible = base.is_certain and base in states
    alternatives = list(base.alternatives) if is_base_possible else []
    familiar_conditions = {alternative.condition for alternative in base.alternatives}
    for condition, state in ways:
        if is_base_possible and state == base:
            continue
        text = " ".join(state.references) or None if state.text is None and not state.alternatives else state.text
        alternatives.append(Alternative(condition, text, state.items))
        alternatives += [
            way._replace(condition=f"{condition} and {way.condition}".removeprefix("otherwise and "))
            for way in state.alternatives
            if way.condition not in familiar_conditions
        ]
    alternatives = _without_unset(alternatives, states)
    if not is_base_possible:
        common = _common(base, alternatives)
        alternatives = [*(base.alternatives if common.is_partial else ()), *alternatives]
        return common._replace(exported=base.exported, alternatives=tuple(alternatives[:MOST_ALTERNATIVES]))
    other_ways = [way for way in alternatives if (way.text, way.items) != (base.text, base.items)]
    return base._replace(alternatives=tuple(other_ways[:MOST_ALTERNATIVES]))


def _common(base: State, alternatives: Sequence[Alternative]) -> State:
    """What a name held before a block, if every branch only adds words to it; else nothing certain."""
    words = base.words
    if not words or not all(way.words[: len(words)] == words and len(way.words) > len(words) for way in alternatives):
        return State()
    return State(base.text, base.items, is_partial=True)


def _without_unset(alternatives: list[Alternative], states: Sequence[State]) -> list[Alternative]:
    """The alternatives without those that only stand for further alternatives."""
    has_more = any(state.alternatives and not state.is_certain for state in states)
    return [way for way in alternatives if not has_more or way.text is not None or way.items is not None]


def _difference(state: State, alternative: Alternative) -> str:
    """How an alternative differs from the value that is read: 'also gets --x 1 if …', 'is 8192, but 32768 if …'."""
    words = state.words
    others = alternative.words
    start = 0
    while start < min(len(words), len(others)) and words[start] == others[start]:
        start += 1
    remaining_count = len(words) - start
    is_longer = len(others) > len(words) and words[start:] == others[len(others) - remaining_count :]
    if is_longer and (state.items is not None or len(words) > 1 or not words):
        return f"also gets {_shorten(' '.join(others[start : len(others) - remaining_count]))} {alternative.condition}"
    return f"is {_shorten(' '.join(words)) or 'empty'}, but {alternative.sentence}"
