"""How the lake is reached through the forwarder: its two addresses, and a configuration that has its ports in place."""

from __future__ import annotations

import re
from pathlib import Path

from storage.lake.config import NO_KEYWORDS, LakeConfig, LakeError, host_of, keywords
from storage.sandbox.lake.forwarder import Target

HERE = "127.0.0.1"
OF_TLS = ("sslrootcert", "sslcert", "sslkey", "sslcrl")
CERTIFICATES = ("/etc/ssl", "/etc/pki")


def targets(config: LakeConfig) -> list[Target]:
    """The catalogue's address, and that of the S3 server where files lie on one. Raises LakeError."""
    words = keywords(config.catalogue)
    port = words.get("port", "5432")
    if not port.isdecimal():
        raise LakeError(NO_KEYWORDS)
    found = [Target(words.get("hostaddr") or words["host"], int(port))]
    if s3 := config.s3:
        port = s3.endpoint.removeprefix(host_of(s3)).lstrip(":")
        found.append(Target(host_of(s3), int(port or (443 if s3.use_ssl else 80)), is_tunnel=s3.use_ssl))
    return found


def through(config: LakeConfig, catalogue_port: int) -> tuple[LakeConfig, str]:
    """The same lake, its catalogue reached at this port of the loopback, and the catalogue's password apart from it.

    A certificate is still checked by the name of its host.
    """
    words = keywords(config.catalogue) | {"hostaddr": HERE, "port": str(catalogue_port)}
    if words.get("host", "").startswith("/"):
        words |= {"host": "localhost", "sslmode": "disable"}  # as on the socket that the forwarder connects to
    password = words.pop("password", "")
    dsn = " ".join(f"{name}={_value(text)}" for name, text in words.items())
    return config.model_copy(update={"catalogue": dsn}), password


def _value(text: str) -> str:
    return "'" + re.sub(r"(['\\])", r"\\\1", text) + "'"


def readable(config: LakeConfig) -> list[Path]:
    """Files that the two connections read, and the lake's own folder where its files lie in one."""
    words = keywords(config.catalogue)
    named = [words[name] for name in OF_TLS if name in words]
    named += CERTIFICATES if config.s3 and config.s3.use_ssl else ()
    named += [str(config.s3.ca_file)] if config.s3 and config.s3.ca_file else []
    named += [] if config.s3 else [config.data_path]
    return [path for path in map(Path, named) if path.exists()]
