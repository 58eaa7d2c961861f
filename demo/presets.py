"""Configurations of the demo: one model served without speculation, with a draft model, and with n-gram drafts."""

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

PORTS = range(61_000, 65_536)  # beyond net.ipv4.ip_local_port_range, by default 32768 to 60999
CONTEXT_TOKENS = 8192  # of all slots together
SLOTS = 2
DRAFT_TOKENS = 4
NGRAM_SIZE = 4
NGRAM_TOKENS = 6


class DemoConfig(NamedTuple):
    """One demo configuration with its name and the command that serves it."""

    name: str
    config: Config
    argv: tuple[str, ...]


def demo_configs(data_dir: Path, ports: Sequence[int] | None = None, shape: Shape = DEMO) -> list[DemoConfig]:
    """Return the configurations, each on its own port (free ports by default); the server creates the model files."""
    target, draft = model_files(data_dir / "demo", shape)
    draft_flags = ["-md", str(draft), "--draft-max", str(DRAFT_TOKENS)]
    ngram_flags = ["--spec-type", "ngram-simple"]
    ngram_flags += ["--spec-ngram-size-n", str(NGRAM_SIZE), "--spec-ngram-size-m", str(NGRAM_TOKENS)]
    draft_model = Speculation(method="draft-simple", model=str(draft), num_tokens=DRAFT_TOKENS)
    ngram = Speculation(method="ngram-simple", num_tokens=NGRAM_TOKENS)
    variants: list[tuple[str, list[str], Speculation | None]] = [
        ("Demo: no speculation", [], None),
        ("Demo: draft model", draft_flags, draft_model),
        ("Demo: n-gram", ngram_flags, ngram),
    ]
    selected_ports = list(ports or free_ports(len(variants)))
    return [
        demo_config(name, target, port, flags, speculation)
        for (name, flags, speculation), port in zip(variants, selected_ports, strict=True)
    ]


def demo_config(
    name: str, target: Path, port: int, flags: Sequence[str], speculation: Speculation | None
) -> DemoConfig:
    """Return one configuration, parsed from its command line."""
    argv = (sys.executable, "-m", "demo", "serve", "-m", str(target), *flags, "--host", "127.0.0.1", "--port")
    argv += (str(port), "-c", str(CONTEXT_TOKENS), "-np", str(SLOTS), "-t", "1", "--alias", "demo")
    argv += ("--metrics", "--slots")
    config = read_argv(argv, {})
    assert config, "Pitwall parses the demo's own command"
    config = config.model_copy(update={"quantization": "q8_0", "speculative": speculation})
    return DemoConfig(name, config, argv)


def free_ports(count: int) -> list[int]:
    """Return distinct loopback ports on which nothing listens now.

    They lie outside Linux's range for outgoing connections, because the servers of a queue start minutes later.
    """
    return list(islice(filter(is_free, sample(PORTS, len(PORTS))), count))


def is_free(port: int) -> bool:
    """Whether nothing listens on this loopback port."""
    with closing(socket.socket()) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
