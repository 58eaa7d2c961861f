"""Warnings about unencrypted connections to the lake, and explanations of rejected certificates."""

from __future__ import annotations

import re
from ipaddress import ip_address

from storage.lake.config import LakeConfig, LakeError, host_of, keywords

ENCRYPTED_MODES = ("require", "verify-ca", "verify-full")  # values of sslmode that never allow plain text
CERTIFICATE_REFUSED = re.compile(
    r"SSL peer certificate|SSL server verification failed|SSL CA cert|certificate", re.IGNORECASE
)
CATALOGUE_ERROR = re.compile(r"connection to server at|root certificate file|server certificate for", re.IGNORECASE)
S3_REFUSED = (
    "The certificate of the S3 server {} was rejected: set ca_file below [s3] in lake.toml to the PEM file of its "
    "certificate authority, and endpoint to the host name in the certificate (docs/fleet.md)."
)
CATALOGUE_REFUSED = (
    "The certificate of the catalogue {} was rejected: in lake.toml's catalogue, set sslrootcert to the PEM file of "
    "its certificate authority, and host to the name in the certificate (docs/fleet.md)."
)
S3_IN_CLEAR = (
    "use_ssl = false in lake.toml: traffic with {} is unencrypted, and anyone on the network path can read and change "
    "it."
)
CATALOGUE_IN_CLEAR = (
    "The catalogue's connection to {} may be unencrypted: add sslmode=verify-full, or at least sslmode=require, to "
    "lake.toml's catalogue."
)


def in_clear(config: LakeConfig) -> list[str]:
    """Return a warning for each of the lake's two addresses on another machine that may be contacted unencrypted."""
    warnings = []
    if config.s3 and not config.s3.use_ssl and not is_local(host_of(config.s3)):
        warnings.append(S3_IN_CLEAR.format(config.s3.endpoint))
    try:
        dsn_values = keywords(config.catalogue)
    except LakeError:
        return warnings
    host = dsn_values.get("hostaddr") or dsn_values["host"]
    if dsn_values.get("sslmode") not in ENCRYPTED_MODES and not host.startswith("/") and not is_local(host):
        warnings.append(CATALOGUE_IN_CLEAR.format(host))
    return warnings


def is_local(host: str) -> bool:
    """Whether the host is this machine, judged by its name."""
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def refused_certificate(config: LakeConfig, text: str) -> str | None:
    """Explain a certificate error of DuckDB in one sentence; None for any other error."""
    if not CERTIFICATE_REFUSED.search(text):
        return None
    if CATALOGUE_ERROR.search(text):
        return CATALOGUE_REFUSED.format(_catalogue_host(config))
    return S3_REFUSED.format(config.s3.endpoint) if config.s3 else None


def _catalogue_host(config: LakeConfig) -> str:
    try:
        return keywords(config.catalogue).get("host", "")
    except LakeError:
        return "of the lake"
