"""Takes the secrets out of a command before it is stored or shown, and puts them back at its start."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from commands.quoting import without_marks
from commands.secret_places import find_spots, is_script_at, replaced
from domain import Config, JsonValue
from engines import ENGINES
from engines.flag_table import words_of_flag
from redaction import HIDDEN_PREFIX, MASK, is_distinctive, is_reference, is_secret_flag, is_secret_name, mask_text

_POINTER = re.compile(
    r"(?<!\\)\$(?:(?:env:)?(?P<bare>[A-Za-z_][A-Za-z0-9_]*)|\{(?P<braced>\w+)(?::?-(?P<default>[^}]*))?\})|%(?P<dos>\w+)%"
)
_API_KEY_FLAG = re.compile(r"--?api[-_]key")
_API_KEY_NAME = re.compile(r"(VLLM|SGLANG|LLAMA)_API_KEY")
_HIDDEN = re.compile(r"\$\{(" + HIDDEN_PREFIX + r"\d+)\}")
_ENGINE_WORDS = {word.lower() for engine in ENGINES for word in (engine.name, engine.title)}


class Hidden(NamedTuple):
    """A command as it may be written down, and what its start needs besides, by environment variable."""

    argv: list[str]
    env: dict[str, str]
    secrets: dict[str, str]


def distinctive(values: Iterable[str]) -> list[str]:
    """The values that are secret wherever they stand; a placeholder or a short one is so in its own place alone."""
    return [value for value in values if is_distinctive(value) and value.lower() not in _ENGINE_WORDS]


def values_of(argv: Sequence[str], known: Sequence[str] = ()) -> dict[str, str]:
    """The literal secrets of a command by their place."""
    literal = {spot.place: argv[spot.word][spot.start : spot.end] for spot in find_spots(argv, known)}
    return {place: value for place, value in literal.items() if value != MASK}


def mask_argv(argv: Sequence[str], known: Sequence[str] = ()) -> list[str]:
    """The argv with literal secrets as '<secret>'; references stay as they were written."""
    return replaced(argv, [(*spot[:3], MASK) for spot in find_spots(argv, known)])


def as_words(env: Mapping[str, str]) -> list[str]:
    """An environment as the words that say it: 'NAME=value'."""
    return [f"{name}={value}" for name, value in env.items()]


def _as_env(words: Iterable[str]) -> dict[str, str]:
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def mask_env(env: Mapping[str, str], known: Sequence[str] = ()) -> dict[str, str]:
    """The environment with literal secrets as '<secret>'."""
    return _as_env(mask_argv(as_words(env), known))


def take_secrets(config: Config) -> tuple[Config, dict[str, str]]:
    """The config as it may be stored and shown, and the secrets that stood in it by their place."""
    words = said_by(config)
    known = distinctive([*values_of(words).values(), *values_of(as_words(config.env)).values()])
    secrets = values_of(words, known) | values_of(as_words(config.env), known)
    kept = {"argv": tuple(mask_argv(config.argv, known)), "env": mask_env(config.env, known)}
    flags = [mask_flag(text, known) for text in config.unknown_flags]
    other = config.model_dump(mode="json", exclude={"argv", "env", "unknown_flags"})
    masked = _mask_values(other, known)
    said = {place: without_marks(value) for place, value in secrets.items()}
    return Config.model_validate({**masked, **kept, "unknown_flags": flags}), said


def _mask_values(value: JsonValue, known: Sequence[str]) -> JsonValue:
    if isinstance(value, dict):
        return {key: _mask_values(item, known) for key, item in value.items()}
    if isinstance(value, list):
        return [_mask_values(item, known) for item in value]
    return mask_text(value, known) if isinstance(value, str) else value


def mask_flag(text: str, known: Sequence[str] = ()) -> str:
    """A flag with its value, written as one text, without secrets."""
    separator = " " if " " in text.partition("=")[0] else "="
    name, found, value = text.partition(separator)
    words = [name, value] if separator == " " else [text]
    return separator.join(mask_argv(words, known)) if found else mask_text(text, known)


def said_by(config: Config) -> list[str]:
    """The words of a config; without words of its own, what it says to the server in no field."""
    return list(config.argv) or [word for text in config.unknown_flags for word in words_of_flag(text)]


def places_of(config: Config) -> list[str]:
    """The places of a config whose secret is masked."""
    found = []
    for words in (said_by(config), as_words(config.env)):
        found += [s.place for s in find_spots(words) if words[s.word][s.start : s.end] == MASK]
    return list(dict.fromkeys(found))


def references_of(config: Config) -> set[str]:
    """The variables that a config's words point at."""
    words = [*said_by(config), *as_words(config.env)]
    return {_name_of(match) for word in words for match in _POINTER.finditer(word)}


def _name_of(match: re.Match[str]) -> str:
    return match["bare"] or match["braced"] or match["dos"]


def missing_secrets(config: Config, given: Mapping[str, str]) -> list[str]:
    """The places whose secret is masked, and the unset variables that a secret flag points at, if not given."""
    pointed = [f"{name}" for name in _pointed_by_flags(said_by(config))]
    return sorted({name for name in [*places_of(config), *pointed] if not given.get(name)})


def _pointed_by_flags(argv: Sequence[str]) -> Iterator[str]:
    """The variables, without a default, that are the whole value of a secret flag: empty, the server would be open."""
    for flag, word in pairwise(["", *argv]):
        name, equals, value = word.partition("=")
        value = value if equals and is_secret_flag(name) else word if is_secret_flag(flag) else ""
        match = _POINTER.fullmatch(value)
        if match and match["default"] is None:
            yield _name_of(match)


def hide_secrets(
    argv: Sequence[str], env: Mapping[str, str], secrets: Mapping[str, str], environ: Mapping[str, str]
) -> Hidden:
    """The command with each secret as `${PITWALL_SECRET_n}`, the plain environment, and the variables that hold them.

    A mask is looked up by its place in `secrets`, then in `environ`; a reference to a secret by its variable. What is
    found in neither stays as it stands, for the start to refuse.
    """
    given = {**environ, **secrets}
    hidden: dict[str, str] = {}

    def hide(place: str, value: str) -> str:
        variable = _hidden_name(place)
        hidden[variable] = value
        return f"${{{variable}}}"

    values = _values(argv, secrets, given)
    words = replaced(argv, [(*span, hide(place, value)) for span, place, value in values])
    named = as_words(env)
    filled = replaced(named, [(*span, value) for span, _, value in _values(named, secrets, given)])
    concealed = _as_env(new for old, new in zip(named, filled, strict=True) if old != new or find_spots([old]))
    plain = {
        name: value
        for name, value in env.items()
        if name not in concealed and not (is_secret_name(name, value) and is_reference(value))
    }
    return Hidden(words, plain, {**concealed, **hidden})


def quoted(places: Iterable[str]) -> str:
    """The places in a sentence, in quotes: a bare '--api-key x' would be taken for a secret itself."""
    return ", ".join(f"'{place}'" for place in places)


def unfilled_places(spec: Mapping[str, JsonValue], secrets: Mapping[str, str]) -> list[str]:
    """The places of a command as it was laid down that would reach the server as the text '<secret>' or as nothing."""
    words = [*spec["argv"], *as_words({**spec["env"], **secrets})]
    gaps = [_HIDDEN.sub(lambda match: secrets.get(match[1], MASK), word) for word in words]
    return [spot.place for spot in find_spots(gaps) if gaps[spot.word][spot.start : spot.end] == MASK]


def with_secrets_in(text: str, config: Config, given: Mapping[str, str]) -> str:
    """A text of a config, such as the path of its model, with the secrets that its command has in the same place."""
    if MASK not in text:
        return text
    values = _values(config.argv, given, given)
    filled = replaced(config.argv, [(*span, value) for span, _, value in values])
    for masked, word in zip(mask_argv(config.argv), filled, strict=True):
        if masked.endswith(text) and masked[: -len(text)] in ("", word[: len(masked) - len(text)]):
            return word[len(masked) - len(text) :]
    return text


def _hidden_name(place: str) -> str:
    """The variable that holds the secret of a place: of the place alone, so that no count can mix two up."""
    return f"{HIDDEN_PREFIX}{int.from_bytes(hashlib.sha256(place.encode()).digest()[:6])}"


def _values(
    argv: Sequence[str], secrets: Mapping[str, str], given: Mapping[str, str]
) -> Iterator[tuple[tuple[int, int, int], str, str]]:
    """Where a secret is to be put in, the name of the place, and the secret."""
    spots = find_spots(argv)
    for spot in spots:
        literal = argv[spot.word][spot.start : spot.end]
        value = given.get(spot.place) if literal == MASK else literal
        if value:
            yield spot[:3], spot.place, value
    for index, word in enumerate(argv):
        is_script = is_script_at(argv, index)  # its own shell fills those in
        for match in _POINTER.finditer(word):
            name, default = _name_of(match), match["default"]
            value = (secrets if is_script else given).get(name, None if is_script else default)
            inside = any(s.word == index and s.start < match.end() and match.start() < s.end for s in spots)
            if value is not None and not inside and _is_secret_reference(argv, index, match):
                yield (index, *match.span()), f"${name}", value


def _is_secret_reference(argv: Sequence[str], index: int, match: re.Match[str]) -> bool:
    """Whether a reference points at a secret: by its own name, or as the value of a secret flag or variable."""
    if is_secret_name(_name_of(match)):
        return True
    name = argv[index][: match.start()].rstrip("=").rpartition("=")[2]
    return is_secret_flag(name) or is_secret_name(name) or (index > 0 and is_secret_flag(argv[index - 1]))


def find_api_key(hidden: Hidden) -> str | None:
    """The key that the server will ask for, if the command or what was given says it."""
    keys = [value for name, value in {**hidden.env, **hidden.secrets}.items() if _API_KEY_NAME.fullmatch(name)]
    for flag, word in pairwise(["", *hidden.argv]):
        name, _, value = word.partition("=")
        said = value if _API_KEY_FLAG.fullmatch(name) else word if _API_KEY_FLAG.fullmatch(flag) else None
        if said:
            keys.insert(0, hidden.secrets.get(said.removeprefix("${").removesuffix("}"), said))
    return next((key.split(",")[0] for key in keys if key and MASK not in key), None)


def variable_of(place: str) -> str:
    """The shell variable under which the secret of a place is asked for in a copied command."""
    name = re.sub(r"\W+", "_", place.replace(MASK, "")).strip("_").upper() or "SECRET"
    name = f"_{name}" if name[0].isdigit() else name
    return name if is_secret_name(name) else f"{name}_SECRET"


def variables_of(secrets: Mapping[str, str]) -> dict[str, str]:
    """The secrets under their variables; two that would share one are left out, to be asked for again."""
    count = Counter(variable_of(place) for place in secrets)
    return {name: value for place, value in secrets.items() if count[name := variable_of(place)] == 1}


def as_references(argv: Sequence[str]) -> list[str]:
    """The words with each mask as a reference to a variable ('$HF_TOKEN')."""
    masks = [spot for spot in find_spots(argv) if argv[spot.word][spot.start : spot.end] == MASK]
    return replaced(argv, [(*spot[:3], _reference(spot.place, argv[spot.word][spot.end :])) for spot in masks])


def _reference(place: str, rest: str) -> str:
    name = variable_of(place)
    return f"${{{name}}}" if re.match(r"\w", rest) else f"${name}"
