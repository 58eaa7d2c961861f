"""Reads the containers of Compose files and Kubernetes manifests; every scalar is kept as written."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Any

import yaml

from commands.bounded_yaml import load_documents
from commands.paste.containers import ContainerCommand, port_pair
from commands.paste.notes import Notes
from commands.paste.servers import INVOCATIONS, flag_tables
from commands.paste.shell import UnclosedQuoteError, Word, split_references, split_words
from commands.paste.variables import Arg, Variables
from commands.quoting import as_literal
from redaction import MASK

CHART_SECTIONS = {
    invocation.chart_section: name for name, invocation in INVOCATIONS.items() if invocation.chart_section
}
MOST_NODES = 20_000
MOST_BASES = 8  # of one merge key
MAX_MERGE_DEPTH = 3
_KEY = re.compile(
    r"^[ \t]*(?:-[ \t]+)?"
    r"(services|mainContainer|apiVersion|kind|image|containers|command|entrypoint|args|extraArgs|environment|env|ports|spec)"
    r"[ \t]*:",
    re.MULTILINE,
)
_KUBERNETES_REFERENCE = re.compile(r"\$\(([A-Za-z_]\w*)\)")
_COMMENT = re.compile(r"\s#.*$|^#.*$")
_PLAIN_KEY = re.compile(r"[A-Za-z]\w*")
_ITEM_KEYS = frozenset({"value", "valueFrom", "mountPath", "protocol", "name"})
_FLAG_AND_VALUE = re.compile(r"(--?[A-Za-z][\w.-]*)[ \t]+(\S.*)", re.DOTALL)
_PLAIN_DOLLAR = re.compile(r"\$\$(?=[A-Za-z_{])")
_CHART_ARGS = ("args", "extraArgs", "containerArgs")
_SINGLE_CONTAINERS = ("mainContainer", "container")  # of Dynamo's operator, of Argo
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_COMPOSE_KEYS = frozenset({"image", "command", "entrypoint"})


def looks_like_manifest(text: str) -> bool:
    """Whether at least two keys of a server manifest are at line starts."""
    return len(set(_KEY.findall(text))) > 1 or any(f"{section}:" in text for section in CHART_SECTIONS)


def read_manifest(text: str, variables: Variables, notes: Notes) -> list[ContainerCommand]:
    """Return the containers of a YAML text in order; none if it is not YAML."""
    if flat := read_flat_manifest(text, notes):
        return flat
    try:
        documents = [node for node in load_documents(text) if isinstance(node, dict | list)]
    except (yaml.YAMLError, RecursionError, ValueError):
        return []
    mappings = [mapping for document in documents for mapping in _mappings(document)]
    for path, content in _files_of(mappings):
        variables.files.add(path, content)
    services = [node["services"] for node in mappings if isinstance(node.get("services"), dict)]
    is_kubernetes = any("apiVersion" in node or "containers" in node for node in mappings)
    if services and not any("apiVersion" in node for node in mappings):
        mappings = [with_merge_keys(node) for node in services[0].values() if isinstance(node, dict)]
        is_kubernetes = False
    containers = []
    for node in mappings:
        if section := next((key for key in CHART_SECTIONS if isinstance(node.get(key), dict)), None):
            containers.append(_section_container(node, section, notes))
        elif isinstance(node.get("image"), dict):
            containers += _chart_container(node, notes)
        elif is_kubernetes:
            containers += [_kubernetes(item, notes) for item in _containers_of(node)]
        elif _COMPOSE_KEYS.intersection(node):
            containers.append(_compose(node, variables, notes))
    if is_kubernetes:
        _publish(containers, [node for node in mappings if "nodePort" in node])
    return containers


def _files_of(mappings: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """The files that a manifest brings along, with their paths: a ConfigMap's data, `content:` of a Compose config."""
    targets = {
        source: target
        for node in mappings
        for item in _list(node.get("configs"))
        if (source := _get(item, "source")) and (target := _get(item, "target"))
    }
    for node in mappings:
        if node.get("kind") == "ConfigMap" and isinstance(node.get("data"), dict):
            folder = _get(node.get("metadata"), "name") or ""
            yield from ((f"{folder}/{name}", text) for name, text in node["data"].items() if isinstance(text, str))
        if isinstance(node.get("configs"), dict):
            for name, config in node["configs"].items():
                if content := _get(config, "content"):
                    yield targets.get(name, f"/{name}"), content.replace("$$", "$")


def _chart_container(node: dict[str, Any], notes: Notes) -> list[ContainerCommand]:
    """The container of a Helm chart's values: `image: {repository, tag}` beside its arguments."""
    image = node["image"]
    names = [_get(image, "registry"), _get(image, "repository")]
    path = "/".join(name for name in names if name)
    args = next((node[key] for key in _CHART_ARGS if isinstance(node.get(key), list) and node[key]), None)
    if not path or (args is None and not node.get("command")):
        return []
    tag = _get(image, "tag")
    return [_kubernetes({**node, "image": f"{path}:{tag}" if tag else path, "args": args}, notes)]


def _section_container(node: dict[str, Any], section: str, notes: Notes) -> ContainerCommand:
    """The container of a chart that states an engine's flags as settings in camel case, without a command."""
    invocation, table = INVOCATIONS[CHART_SECTIONS[section]], flag_tables()[CHART_SECTIONS[section]]
    settings = with_merge_keys(node[section])
    image = _get(node, "image") or ":".join(filter(None, (_get(node, "repository"), _get(node, "tag"))))
    model = _get(node, "modelURL") or _get(node, "model")
    args = [*(invocation.image_command or ()), *([model] if model else [])]
    for name, value in settings.items():
        flag = "--" + _CAMEL.sub("-", name).lower()
        if table.find(flag)[0] is None:
            continue  # a setting of the chart, such as its list of further arguments
        is_switch = isinstance(value, str) and value.lower() in ("true", "false")
        args += [flag if value.lower() == "true" else f"--no-{flag[2:]}"] if is_switch else [flag, str(value)]
    lists = [mapping.get(key) for mapping in (settings, node) for key in _CHART_ARGS]
    args += [item for items in lists for item in _list(items) if isinstance(item, str)]
    container = _kubernetes({**node, "image": image or None, "command": None, "args": args}, notes)
    container.gpus = container.gpus or _get(node, "requestGPU")
    return container


def _containers_of(node: dict[str, Any]) -> list[dict[str, Any]]:
    """The containers of a pod's mapping: its list, or the main container of an operator's service."""
    listed = [item for item in _list(node.get("containers")) if isinstance(item, dict)]
    return listed + [node[key] for key in _SINGLE_CONTAINERS if isinstance(node.get(key), dict)]


def read_flat_manifest(text: str, notes: Notes) -> list[ContainerCommand]:
    """Return the container of a Kubernetes manifest that has lost its indentation; none for any other text."""
    lines = [_COMMENT.sub("", line).strip() for line in text.splitlines()]
    if "containers:" not in lines or any(line.startswith((" ", "\t")) for line in text.splitlines()):
        return []
    sections: dict[str, list[str]] = {}
    section = ""
    for line in lines[lines.index("containers:") + 1 :]:
        key, colon, value = line.partition(":")
        if colon and _PLAIN_KEY.fullmatch(key) and key not in _ITEM_KEYS:
            section = key
            sections.setdefault(section, [value.strip()] if value.strip() else [])
        elif section:
            sections[section].append(line)
    node = {name: _flat_value(name, items) for name, items in sections.items() if items}
    if not isinstance(node.get("image"), str):
        return []
    notes.add(notes.warnings, "the manifest has lost its indentation and was read line by line")
    return [_kubernetes(node, notes)]


def _flat_value(name: str, lines: list[str]) -> Any:
    """A section's lines as a YAML value: a text, or the items that begin with a dash."""
    if not lines[0].startswith("-"):
        return _scalar(lines[0])
    if name in ("command", "args"):
        return [_scalar(line[1:].strip()) for line in lines if line.startswith("-")]
    items: list[dict[str, str]] = []
    for line in lines:
        key, _, value = line.removeprefix("-").strip().partition(":")
        items += [{}] if line.startswith("-") else []
        items[-1][key] = _scalar(value.strip())
    return items


def _scalar(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _mappings(root: Any) -> Iterator[dict[str, Any]]:
    """Every mapping of a document, outer before inner, aliases once."""
    pending, visited_ids = deque([root]), set[int]()
    while pending and len(visited_ids) < MOST_NODES:
        node = pending.popleft()
        if id(node) in visited_ids:
            continue
        visited_ids.add(id(node))
        if isinstance(node, dict):
            mapping = with_merge_keys(node)
            yield mapping
            pending += [value for value in mapping.values() if isinstance(value, dict | list)]
        else:
            pending += [value for value in node if isinstance(value, dict | list)]


def with_merge_keys(node: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return a mapping with YAML's merge key `<<` applied, also within what is merged."""
    base = node.get("<<")
    bases = [item for item in (base if isinstance(base, list) else [base]) if isinstance(item, dict)]
    merged: dict[str, Any] = {}
    for mapping in reversed(bases[:MOST_BASES]):
        merged |= with_merge_keys(mapping, depth + 1) if depth < MAX_MERGE_DEPTH else mapping
    return {**merged, **{key: value for key, value in node.items() if isinstance(key, str) and key != "<<"}}


def _compose(node: dict[str, Any], variables: Variables, notes: Notes) -> ContainerCommand:
    container = ContainerCommand("compose", image=_text(node.get("image"), variables) or None)
    container.env = {name: _dollars(text) for name, text in _environment(_either(node, "environment", "env")).items()}
    container.volumes = [_volume(item) for item in _list(node.get("volumes"))]
    ports = _list(_either(node, "ports", "published_ports"))
    container.ports = [variables.expand_text(port) for item in ports if (port := _published(item))]
    container.gpus = _compose_gpus(node)
    entrypoint = _compose_words(node.get("entrypoint"), variables, notes)
    container.has_entrypoint = bool(entrypoint)
    container.args = entrypoint + _compose_words(node.get("command"), variables, notes)
    container.is_on_host_network = node.get("network_mode") == "host"
    return container


def _either(node: dict[str, Any], name: str, other: str) -> Any:
    """A value under Compose's name, or under that of Ansible's module for containers."""
    return node.get(name) or node.get(other)


def _compose_words(value: Any, variables: Variables, notes: Notes) -> list[Arg]:
    """The words of `command:` or `entrypoint:`, a list or shell-like text; `$$` is a literal dollar."""
    if isinstance(value, list):
        items = _split_items([item for item in value if isinstance(item, str)], notes)
        words = [Arg(item, variables.expand_text(item)) for item in items]
    else:
        words = _shell_words(value if isinstance(value, str) else "", variables, notes, fills_quoted=True)
    return [Arg(_dollars(word.raw), _dollars(word.text)) for word in words]


def _dollars(text: str) -> str:
    """The text with Compose's `$$` as a literal dollar."""
    return _PLAIN_DOLLAR.sub(r"\\$", text).replace("$$", "$")


def _split_items(items: list[str], notes: Notes) -> list[str]:
    """The words of a list; an item with a flag and its value becomes two words, as its author intended."""
    words: list[str] = []
    for item in items:
        flag_match = _FLAG_AND_VALUE.fullmatch(item)
        words += [flag_match[1], _scalar(flag_match[2].strip())] if flag_match else [item]
        if flag_match:
            text = f"{flag_match[1]} and its value are in one list item: the server would receive them as one word"
            notes.add(notes.warnings, text)
    return words


def _shell_words(text: str, variables: Variables, notes: Notes, fills_quoted: bool = False) -> list[Arg]:
    """The words of a shell-like text; `fills_quoted`: references inside quotes are expanded too."""
    try:
        words = split_words(text)
    except UnclosedQuoteError as error:
        notes.add(notes.warnings, f"a {error.quote} quote in the manifest's command is never closed")
        words = error.command.words
    return variables.expand_words(map(_with_quoted_references, words) if fills_quoted else words)


def _with_quoted_references(word: Word) -> Word:
    """The word as read by Compose, which ignores quotes."""
    pieces = [[part] if part.is_reference else split_references(part.text) for part in word.parts]
    return Word(tuple(part for piece in pieces for part in piece))


def _kubernetes(node: dict[str, Any], notes: Notes) -> ContainerCommand:
    node = with_merge_keys(node)
    container = ContainerCommand("kubernetes", image=node.get("image") if isinstance(node.get("image"), str) else None)
    container.env = {
        name: text if text == MASK else as_literal(text) for name, text in _environment(node.get("env")).items()
    }
    command, args = _kubernetes_words(node.get("command")), _kubernetes_words(node.get("args"))
    container.has_entrypoint = bool(command)
    if len(command + args) == 1 and " " in (command + args)[0]:
        notes.add(notes.warnings, "the whole command is one word: Kubernetes would look for a program with that name")
        split = _shell_words((command + args)[0], Variables(notes), notes)
        container.args = split
    else:
        known_env = {name: value for name, value in container.env.items() if "$" not in value}
        words = [as_literal(word) for word in _split_items(command + args, notes)]
        container.args = [Arg(word, _substitute(word, known_env)) for word in words]
    resources = node.get("resources")
    container.gpus = _gpu_count(_get_any(resources, "limits")) or _gpu_count(_get_any(resources, "requests"))
    container.ports = [f"{port}:{port}" for item in _list(node.get("ports")) if (port := _get(item, "containerPort"))]
    return container


def _kubernetes_words(value: Any) -> list[str]:
    return [value] if isinstance(value, str) and value else [item for item in _list(value) if isinstance(item, str)]


def _substitute(word: str, env: dict[str, str]) -> str:
    return _KUBERNETES_REFERENCE.sub(lambda m: env.get(m[1], m[0]), word)


def _publish(containers: list[ContainerCommand], services: list[dict[str, Any]]) -> None:
    """Replace a container's port with a Service's nodePort."""
    for service in services:
        target = _get(service, "targetPort") or _get(service, "port") or ""
        for container in containers:
            own_ports = [pair[1] for port in container.ports if (pair := port_pair(port))]
            if target.isdigit() and (int(target) in own_ports or not own_ports):
                container.ports = [f"{service['nodePort']}:{target}"]
            elif not target.isdigit() and own_ports:
                container.ports = [f"{service['nodePort']}:{own_ports[0]}"]


def _environment(value: Any) -> dict[str, str]:
    """The variables of `environment:` (mapping or list) or of Kubernetes' list of name and value."""
    if isinstance(value, dict):
        return {name: text for name, text in value.items() if isinstance(text, str)}
    env: dict[str, str] = {}
    for item in _list(value):
        if isinstance(item, str):
            name, equals, text = item.partition("=")
            env[name] = text if equals else f"${name}"
        elif isinstance(item, dict) and isinstance(item.get("name"), str):
            item_value = item.get("value")
            if isinstance(item_value, str):
                env[item["name"]] = item_value
            elif "secretKeyRef" in str(item.get("valueFrom")):
                env[item["name"]] = MASK
    return env


def _volume(item: Any) -> str:
    if isinstance(item, str):
        return item
    return f"{_get(item, 'source')}:{_get(item, 'target')}" + (":ro" if _get(item, "read_only") == "true" else "")


def _published(item: Any) -> str | None:
    if isinstance(item, str):
        return item
    target, published = _get(item, "target"), _get(item, "published")
    return f"{published}:{target}" if target and published else target


def _compose_gpus(node: dict[str, Any]) -> str | None:
    """The GPUs from `deploy.resources.reservations.devices` or `gpus:`."""
    if isinstance(node.get("gpus"), str):
        return str(node["gpus"])
    node_value: Any = node
    for key in ("deploy", "resources", "reservations"):
        node_value = node_value.get(key) if isinstance(node_value, dict) else None
    devices = _list(_get_any(node_value, "devices")) + _list(node.get("gpus"))
    for device in devices:
        ids = [text for text in _list(_get_any(device, "device_ids")) if isinstance(text, str)]
        if ids or _get(device, "count"):
            return ",".join(ids) or _get(device, "count")
    cdi = [text for text in _list(node.get("devices")) if isinstance(text, str) and "/gpu=" in text]
    return ",".join(cdi) or None


def _gpu_count(resources: Any) -> str | None:
    if not isinstance(resources, dict):
        return None
    return next((value for key, value in resources.items() if key.endswith("/gpu") and isinstance(value, str)), None)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _get_any(item: Any, key: str) -> Any:
    return item.get(key) if isinstance(item, dict) else None


def _get(item: Any, key: str) -> str | None:
    value = _get_any(item, key)
    return value if isinstance(value, str) and value else None


def _text(value: Any, variables: Variables) -> str:
    return variables.expand_text(value) if isinstance(value, str) else ""
