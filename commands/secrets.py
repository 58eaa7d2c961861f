"""Removes secrets from a command before it is stored or shown, and inserts them again at its start."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from commands.quoting import without_marks
from commands.secret_places import find_spots, is_script_at, replace_parts
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


class HiddenCommand(NamedTuple):
    """A command without secrets, and the environment variables that its start needs."""

    argv: list[str]
    env: dict[str, str]
    secrets: dict[str, str]


def distinctive(values: Iterable[str]) -> list[str]:
    """Return the values that are secret wherever they occur; placeholders and short values are so only in place."""
    return [value for value in values if is_distinctive(value) and value.lower() not in _ENGINE_WORDS]


def values_of(argv: Sequence[str], known_values: Sequence[str] = ()) -> dict[str, str]:
    """Return the literal secrets of a command by place."""
    literal = {spot.place: argv[spot.word][spot.start : spot.end] for spot in find_spots(argv, known_values)}
    return {place: value for place, value in literal.items() if value != MASK}


def mask_argv(argv: Sequence[str], known_values: Sequence[str] = ()) -> list[str]:
    """Return argv with literal secrets as '<secret>'; references stay as written."""
    return replace_parts(argv, [(*spot[:3], MASK) for spot in find_spots(argv, known_values)])


def as_words(env: Mapping[str, str]) -> list[str]:
    """Return an environment as 'NAME=value' words."""
    return [f"{name}={value}" for name, value in env.items()]


def _as_env(words: Iterable[str]) -> dict[str, str]:
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def mask_env(env: Mapping[str, str], known_values: Sequence[str] = ()) -> dict[str, str]:
    """Return the environment with literal secrets as '<secret>'."""
    return _as_env(mask_argv(as_words(env), known_values))


def take_secrets(config: Config) -> tuple[Config, dict[str, str]]:
    """Return the config without secrets, for storing and showing, and its secrets by place."""
    words = config_words(config)
    known_values = distinctive([*values_of(words).values(), *values_of(as_words(config.env)).values()])
    secrets = values_of(words, known_values) | values_of(as_words(config.env), known_values)
    masked_launch = {"argv": tuple(mask_argv(config.argv, known_values)), "env": mask_env(config.env, known_values)}
    flags = [mask_flag(text, known_values) for text in config.unknown_flags]
    server_fields = config.model_dump(mode="json", exclude={"argv", "env", "unknown_flags"})
    masked = _mask_values(server_fields, known_values)
    unmarked_secrets = {place: without_marks(value) for place, value in secrets.items()}
    return Config.model_validate({**masked, **masked_launch, "unknown_flags": flags}), unmarked_secrets


def _mask_values(value: JsonValue, known_values: Sequence[str]) -> JsonValue:
    if isinstance(value, dict):
        return {key: _mask_values(item, known_values) for key, item in value.items()}
    if isinstance(value, list):
        return [_mask_values(item, known_values) for item in value]
    return mask_text(value, known_values) if isinstance(value, str) else value


def mask_flag(text: str, known_values: Sequence[str] = ()) -> str:
    """Return a flag with its value as one text, without secrets."""
    separator = " " if " " in text.partition("=")[0] else "="
    name, has_separator, value = text.partition(separator)
    words = [name, value] if separator == " " else [text]
    return separator.join(mask_argv(words, known_values)) if has_separator else mask_text(text, known_values)


def config_words(config: Config) -> list[str]:
    """Return the words of a config, or those of its unknown flags if it has no words."""
    return list(config.argv) or [word for text in config.unknown_flags for word in words_of_flag(text)]


def places_of(config: Config) -> list[str]:
    """Return the places of masked secrets in a config."""
    places = []
    for words in (config_words(config), as_words(config.env)):
        places += [s.place for s in find_spots(words) if words[s.word][s.start : s.end] == MASK]
    return list(dict.fromkeys(places))


def references_of(config: Config) -> set[str]:
    """Return the variables referenced by a config's words."""
    words = [*config_words(config), *as_words(config.env)]
    return {_name_of(match) for word in words for match in _POINTER.finditer(word)}


def _name_of(match: re.Match[str]) -> str:
    return match["bare"] or match["braced"] or match["dos"]


def missing_secrets(config: Config, available: Mapping[str, str]) -> list[str]:
    """Return the missing secrets: masked places, and variables of secret flags, that are not available."""
    flag_variables = [f"{name}" for name in _pointed_by_flags(config_words(config))]
    return sorted({name for name in [*places_of(config), *flag_variables] if not available.get(name)})


def _pointed_by_flags(argv: Sequence[str]) -> Iterator[str]:
    """Variables without a default that are the whole value of a secret flag; if empty, the server would be open."""
    for flag, word in pairwise(["", *argv]):
        name, equals, value = word.partition("=")
        value = value if equals and is_secret_flag(name) else word if is_secret_flag(flag) else ""
        match = _POINTER.fullmatch(value)
        if match and match["default"] is None:
            yield _name_of(match)


def hide_secrets(
    argv: Sequence[str], env: Mapping[str, str], secrets: Mapping[str, str], environ: Mapping[str, str]
) -> HiddenCommand:
    """Return the command with each secret as `${PITWALL_SECRET_n}`, the plain environment, and the secret variables.

    A mask is looked up by place in `secrets`, then in `environ`; a reference to a secret by its variable. Secrets in
    neither stay masked, and the start refuses them.
    """
    available = {**environ, **secrets}
    hidden: dict[str, str] = {}

    def hide(place: str, value: str) -> str:
        variable = _hidden_name(place)
        hidden[variable] = value
        return f"${{{variable}}}"

    values = _values(argv, secrets, available)
    words = replace_parts(argv, [(*span, hide(place, value)) for span, place, value in values])
    env_words = as_words(env)
    filled = replace_parts(env_words, [(*span, value) for span, _, value in _values(env_words, secrets, available)])
    concealed = _as_env(new for old, new in zip(env_words, filled, strict=True) if old != new or find_spots([old]))
    plain = {
        name: value
        for name, value in env.items()
        if name not in concealed and not (is_secret_name(name, value) and is_reference(value))
    }
    return HiddenCommand(words, plain, {**concealed, **hidden})


def quoted(places: Iterable[str]) -> str:
    """Return the quoted places for a sentence; an unquoted '--api-key x' would be masked as a secret itself."""
    return ", ".join(f"'{place}'" for place in places)


def unfilled_places(spec: Mapping[str, JsonValue], secrets: Mapping[str, str]) -> list[str]:
    """Return the places of a prepared command that would reach the server as '<secret>' or empty."""
    words = [*spec["argv"], *as_words({**spec["env"], **secrets})]
    gaps = [_HIDDEN.sub(lambda match: secrets.get(match[1], MASK), word) for word in words]
    return [spot.place for spot in find_spots(gaps) if gaps[spot.word][spot.start : spot.end] == MASK]


def with_secrets_in(text: str, config: Config, available: Mapping[str, str]) -> str:
    """Return a text of a config, such as its model path, with the secrets from the same place in its command."""
    if MASK not in text:
        return text
    values = _values(config.argv, available, available)
    filled = replace_parts(config.argv, [(*span, value) for span, _, value in values])
    for masked, word in zip(mask_argv(config.argv), filled, strict=True):
        if masked.endswith(text) and masked[: -len(text)] in ("", word[: len(masked) - len(text)]):
            return word[len(masked) - len(text) :]
    return text


def _hidden_name(place: str) -> str:
    """The variable for the secret of a place, derived from the place alone so that two are never swapped."""
    return f"{HIDDEN_PREFIX}{int.from_bytes(hashlib.sha256(place.encode()).digest()[:6])}"


def _values(
    argv: Sequence[str], secrets: Mapping[str, str], available: Mapping[str, str]
) -> Iterator[tuple[tuple[int, int, int], str, str]]:
    """The span where a secret is inserted, the name of its place, and the secret."""
    spots = find_spots(argv)
    for spot in spots:
        literal = argv[spot.word][spot.start : spot.end]
        value = available.get(spot.place) if literal == MASK else literal
        if value:
            yield spot[:3], spot.place, value
    for index, word in enumerate(argv):
        is_script = is_script_at(argv, index)  # expanded by its own shell
        for match in _POINTER.finditer(word):
            name, default = _name_of(match), match["default"]
            value = (secrets if is_script else available).get(name, None if is_script else default)
            is_in_spot = any(s.word == index and s.start < match.end() and match.start() < s.end for s in spots)
            if value is not None and not is_in_spot and _is_secret_reference(argv, index, match):
                yield (index, *match.span()), f"${name}", value


def _is_secret_reference(argv: Sequence[str], index: int, match: re.Match[str]) -> bool:
    """Whether a reference is to a secret: by its name, or as the value of a secret flag or variable."""
    if is_secret_name(_name_of(match)):
        return True
    name = argv[index][: match.start()].rstrip("=").rpartition("=")[2]
    return is_secret_flag(name) or is_secret_name(name) or (index > 0 and is_secret_flag(argv[index - 1]))


def find_api_key(hidden: HiddenCommand) -> str | None:
    """Return the API key that the server will require, if known from the command or the secrets."""
    keys = [value for name, value in {**hidden.env, **hidden.secrets}.items() if _API_KEY_NAME.fullmatch(name)]
    for flag, word in pairwise(["", *hidden.argv]):
        name, _, value = word.partition("=")
        found_key = value if _API_KEY_FLAG.fullmatch(name) else word if _API_KEY_FLAG.fullmatch(flag) else None
        if found_key:
            keys.insert(0, hidden.secrets.get(found_key.removeprefix("${").removesuffix("}"), found_key))
    return next((key.split(",")[0] for key in keys if key and MASK not in key), None)


def variable_of(place: str) -> str:
    """Return the shell variable for the secret of a place in a copied command."""
    name = re.sub(r"\W+", "_", place.replace(MASK, "")).strip("_").upper() or "SECRET"
    name = f"_{name}" if name[0].isdigit() else name
    return name if is_secret_name(name) else f"{name}_SECRET"


def variables_of(secrets: Mapping[str, str]) -> dict[str, str]:
    """Return the secrets by variable; secrets that would share a variable are left out."""
    count = Counter(variable_of(place) for place in secrets)
    return {name: value for place, value in secrets.items() if count[name := variable_of(place)] == 1}


def as_references(argv: Sequence[str]) -> list[str]:
    """Return the words with each mask as a reference to a variable ('$HF_TOKEN')."""
    masks = [spot for spot in find_spots(argv) if argv[spot.word][spot.start : spot.end] == MASK]
    return replace_parts(argv, [(*spot[:3], _reference(spot.place, argv[spot.word][spot.end :])) for spot in masks])


def _reference(place: str, following_text: str) -> str:
    name = variable_of(place)
    return f"${{{name}}}" if re.match(r"\w", following_text) else f"${name}"
