"""The demo's configurations: one model served without speculation, with a draft model, and with n-gram drafts."""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from random import sample
from typing import NamedTuple

from commands.explain import read_argv
from demo.model import DEMO, Shape, model_files
from domain import Config, Speculation

PORTS = range(61_000, 65_536)  # beyond net.ipv4.ip_local_port_range, which is 32768 to 60999 unless set
CONTEXT_TOKENS = 8192  # of all slots together
SLOTS = 2
DRAFT_TOKENS = 4
NGRAM_SIZE = 4
NGRAM_TOKENS = 6


class DemoConfig(NamedTuple):
    """One of the demo's configurations with its name, and the command that serves it."""

    name: str
    config: Config
    argv: tuple[str, ...]


def demo_configs(data_dir: Path, ports: Sequence[int] | None = None, shape: Shape = DEMO) -> list[DemoConfig]:
    """The configurations, each on a port of its own (free ones unless given); the server makes the model files."""
    target, draft = model_files(data_dir / "demo", shape)
    drafting = ["-md", str(draft), "--draft-max", str(DRAFT_TOKENS)]
    repeating = ["--spec-type", "ngram-simple"]
    repeating += ["--spec-ngram-size-n", str(NGRAM_SIZE), "--spec-ngram-size-m", str(NGRAM_TOKENS)]
    draft_model = Speculation(method="draft-simple", model=str(draft), num_tokens=DRAFT_TOKENS)
    ngram = Speculation(method="ngram-simple", num_tokens=NGRAM_TOKENS)
    kinds: list[tuple[str, list[str], Speculation | None]] = [
        ("Demo: no speculation", [], None),
        ("Demo: draft model", drafting, draft_model),
        ("Demo: n-gram", repeating, ngram),
    ]
    chosen = list(ports or free_ports(len(kinds)))
    return [
        demo_config(name, target, port, flags, speculation)
        for (name, flags, speculation), port in zip(kinds, chosen, strict=True)
    ]


def demo_config(
    name: str, target: Path, port: int, flags: Sequence[str], speculation: Speculation | None
) -> DemoConfig:
    """One configuration: its command line, and the reading of it."""
    argv = (sys.executable, "-m", "demo", "serve", "-m", str(target), *flags, "--host", "127.0.0.1", "--port")
    argv += (str(port), "-c", str(CONTEXT_TOKENS), "-np", str(SLOTS), "-t", "1", "--alias", "demo")
    argv += ("--metrics", "--slots")
    config = read_argv(argv, {})
    assert config, "the demo's command is one that Pitwall reads"
    config = config.model_copy(update={"quantization": "q8_0", "speculative": speculation})
    return DemoConfig(name, config, argv)


def free_ports(count: int) -> list[int]:
    """Ports of the loopback that nobody listens on now, no two the same.

    None that Linux gives to a connection meanwhile: the servers of a queue start minutes later.
    """
    return list(islice(filter(is_free, sample(PORTS, len(PORTS))), count))


def is_free(port: int) -> bool:
    """Whether nobody listens on it at the loopback."""
    with closing(socket.socket()) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
