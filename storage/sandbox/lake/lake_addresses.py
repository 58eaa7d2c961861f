"""Addresses of the lake for the forwarder, and its configuration with the forwarded port."""

from __future__ import annotations

import re
from pathlib import Path

from storage.lake.config import NO_KEYWORDS, LakeConfig, LakeError, host_of, keywords
from storage.sandbox.lake.forwarder import ForwardTarget

LOOPBACK = "127.0.0.1"
TLS_KEYWORDS = ("sslrootcert", "sslcert", "sslkey", "sslcrl")
CERTIFICATES = ("/etc/ssl", "/etc/pki")


def targets(config: LakeConfig) -> list[ForwardTarget]:
    """Return the address of the catalogue and, if the files are on S3, of the S3 server. Raises LakeError."""
    dsn_values = keywords(config.catalogue)
    port = dsn_values.get("port", "5432")
    if not port.isdecimal():
        raise LakeError(NO_KEYWORDS)
    addresses = [ForwardTarget(dsn_values.get("hostaddr") or dsn_values["host"], int(port))]
    if s3 := config.s3:
        port = s3.endpoint.removeprefix(host_of(s3)).lstrip(":")
        addresses.append(ForwardTarget(host_of(s3), int(port or (443 if s3.use_ssl else 80)), is_tunnel=s3.use_ssl))
    return addresses


def redirect_catalogue(config: LakeConfig, catalogue_port: int) -> tuple[LakeConfig, str]:
    """Return the lake's configuration with the catalogue at this loopback port, and the catalogue's password.

    Certificates are still checked against the original host name.
    """
    dsn_values = keywords(config.catalogue) | {"hostaddr": LOOPBACK, "port": str(catalogue_port)}
    if dsn_values.get("host", "").startswith("/"):
        dsn_values |= {"host": "localhost", "sslmode": "disable"}  # as on the socket that the forwarder connects to
    password = dsn_values.pop("password", "")
    dsn = " ".join(f"{name}={_value(text)}" for name, text in dsn_values.items())
    return config.model_copy(update={"catalogue": dsn}), password


def _value(text: str) -> str:
    return "'" + re.sub(r"(['\\])", r"\\\1", text) + "'"


def readable_paths(config: LakeConfig) -> list[Path]:
    """Return the files that the two connections read, and the lake's folder if it is local."""
    dsn_values = keywords(config.catalogue)
    names = [dsn_values[name] for name in TLS_KEYWORDS if name in dsn_values]
    names += CERTIFICATES if config.s3 and config.s3.use_ssl else ()
    names += [str(config.s3.ca_file)] if config.s3 and config.s3.ca_file else []
    names += [] if config.s3 else [config.data_path]
    return [path for path in map(Path, names) if path.exists()]
