"""The data folder's sign-in.toml: the team's OpenID provider, and the roles that its claims give.

Only its owner may read the file, since it contains the client's secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from errors import PitwallError
from machine.secret_file import read_secrets
from web.access.sessions import HIGHEST_FIRST, MemberRole

LONGEST_NAME = 80
NAMES = ("email", "preferred_username", "name", "sub")  # claims that name a person, in order of preference


class SignInError(PitwallError):
    """sign-in.toml cannot be used, in one sentence without a secret."""


class SignInConfig(BaseModel):
    """The provider and the roles: `roles` has for each role the claims and values (or patterns with *) that give it."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    issuer: str = Field(pattern=r"^https?://[^\s?#]+$")
    client_id: str
    client_secret: str = Field(repr=False)
    scopes: str = "openid profile email groups"
    roles: Mapping[MemberRole, Mapping[str, tuple[str, ...]]]

    @property
    def name(self) -> str:
        """The provider's name on the sign-in page."""
        return urlsplit(self.issuer).netloc

    @property
    def metadata_url(self) -> str:
        """The URL of the provider's metadata, by OpenID Connect Discovery 1.0, section 4."""
        return f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"

    def role_of(self, claims: Mapping[str, Any]) -> MemberRole | None:
        """Return the highest role that the claims give; None if this person has no access."""
        return next((role for role in HIGHEST_FIRST if self._grants(role, claims)), None)

    def _grants(self, role: MemberRole, claims: Mapping[str, Any]) -> bool:
        return any(
            fnmatchcase(value, pattern)
            for claim, patterns in self.roles.get(role, {}).items()
            for value in _values(claims, claim)
            for pattern in patterns
        )


def _values(claims: Mapping[str, Any], claim: str) -> Iterator[str]:
    """Yield a claim's values; an email address only if the provider has verified it, else anybody could claim it."""
    if claim == "email" and claims.get("email_verified") is not True:
        return
    claimed = claims.get(claim)
    yield from (
        str(value) for value in (claimed if isinstance(claimed, list) else [claimed]) if isinstance(value, str | int)
    )


def person_name(claims: Mapping[str, Any]) -> str:
    """Return the name of a person for the audit."""
    name = next((str(claims[name]) for name in NAMES if claims.get(name)), "")
    return "".join(filter(str.isprintable, name))[:LONGEST_NAME]


def read_sign_in(path: Path) -> SignInConfig | None:
    """Read the file; None without one. Raises SignInError if it is invalid or others may read it."""
    return read_secrets(path, SignInConfig, SignInError)
