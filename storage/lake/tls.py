"""What of the lake goes over the network as anyone may read it, and a refused certificate in a sentence."""

from __future__ import annotations

import re
from ipaddress import ip_address

from storage.lake.config import LakeConfig, LakeError, host_of, keywords

CHECKED = ("require", "verify-ca", "verify-full")  # of sslmode: those with which libpq never speaks in clear
REFUSED = re.compile(r"SSL peer certificate|SSL server verification failed|SSL CA cert|certificate", re.IGNORECASE)
OF_CATALOGUE = re.compile(r"connection to server at|root certificate file|server certificate for", re.IGNORECASE)
S3_REFUSED = (
    "The certificate of the S3 server {} was refused: give the PEM file of the authority that signed it as ca_file "
    "below [s3] in lake.toml, and as endpoint the host's name that it was made for (docs/fleet.md)."
)
CATALOGUE_REFUSED = (
    "The certificate of the catalogue {} was refused: give the PEM file of the authority that signed it as sslrootcert "
    "in lake.toml's catalogue, and as host the name that it was made for (docs/fleet.md)."
)
S3_IN_CLEAR = (
    "use_ssl = false in lake.toml: what is shipped to {} and read from there goes unencrypted, and whoever is on the "
    "way can read and change it."
)
CATALOGUE_IN_CLEAR = (
    "The catalogue's connection to {} may go unencrypted: write sslmode=verify-full, or at least sslmode=require, into "
    "lake.toml's catalogue."
)


def in_clear(config: LakeConfig) -> list[str]:
    """A sentence for each of the lake's two addresses that is another machine and may be spoken to unencrypted."""
    found = []
    if config.s3 and not config.s3.use_ssl and not is_here(host_of(config.s3)):
        found.append(S3_IN_CLEAR.format(config.s3.endpoint))
    try:
        words = keywords(config.catalogue)
    except LakeError:
        return found
    host = words.get("hostaddr") or words["host"]
    if words.get("sslmode") not in CHECKED and not host.startswith("/") and not is_here(host):
        found.append(CATALOGUE_IN_CLEAR.format(host))
    return found


def is_here(host: str) -> bool:
    """Whether what is sent to this host stays on this machine, by its name alone."""
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def refused_certificate(config: LakeConfig, text: str) -> str | None:
    """Whose certificate an error of DuckDB is about and what to do, in one sentence; None for any other error."""
    if not REFUSED.search(text):
        return None
    if OF_CATALOGUE.search(text):
        return CATALOGUE_REFUSED.format(_catalogue_host(config))
    return S3_REFUSED.format(config.s3.endpoint) if config.s3 else None


def _catalogue_host(config: LakeConfig) -> str:
    try:
        return keywords(config.catalogue).get("host", "")
    except LakeError:
        return "of the lake"
