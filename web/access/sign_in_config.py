"""Who may sign in through a team's OpenID provider, and as what: sign-in.toml of the data folder.

The file is its owner's alone, since it holds the client's secret. Claims of the provider's token become a role.
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
NAMES = ("email", "preferred_username", "name", "sub")  # claims that name a person, the first that is there
EXAMPLE = """issuer = "https://id.example.org/realms/team"
client_id = "pitwall"
client_secret = "..."

[roles.operator]
groups = ["llm-operators"]
[roles.viewer]
email = ["*@example.org"]
"""


class SignInError(PitwallError):
    """sign-in.toml cannot be used, in one sentence without a secret."""


class SignInConfig(BaseModel):
    """`roles`: for each role the claims and the values (or patterns with *) of which one must be there."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    issuer: str = Field(pattern=r"^https?://[^\s?#]+$")
    client_id: str
    client_secret: str = Field(repr=False)
    scopes: str = "openid profile email groups"
    roles: Mapping[MemberRole, Mapping[str, tuple[str, ...]]]

    @property
    def name(self) -> str:
        """How the sign-in page calls the provider."""
        return urlsplit(self.issuer).netloc

    @property
    def metadata_url(self) -> str:
        """OpenID Connect Discovery 1.0, section 4."""
        return f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"

    def role_of(self, claims: Mapping[str, Any]) -> MemberRole | None:
        """The highest role that the claims give; None: this person may not come in."""
        return next((role for role in HIGHEST_FIRST if self._gives(role, claims)), None)

    def _gives(self, role: MemberRole, claims: Mapping[str, Any]) -> bool:
        return any(
            fnmatchcase(value, pattern)
            for claim, patterns in self.roles.get(role, {}).items()
            for value in _values(claims, claim)
            for pattern in patterns
        )


def _values(claims: Mapping[str, Any], claim: str) -> Iterator[str]:
    """An address of mail counts only where the provider says that it has verified it: else anybody may claim it."""
    if claim == "email" and claims.get("email_verified") is not True:
        return
    said = claims.get(claim)
    yield from (str(value) for value in (said if isinstance(said, list) else [said]) if isinstance(value, str | int))


def name_of(claims: Mapping[str, Any]) -> str:
    """What the audit calls a person."""
    said = next((str(claims[name]) for name in NAMES if claims.get(name)), "")
    return "".join(filter(str.isprintable, said))[:LONGEST_NAME]


def read_sign_in(path: Path) -> SignInConfig | None:
    """The file's; None without one. Raises SignInError for a file that others may read or that is wrong."""
    return read_secrets(path, SignInConfig, SignInError)
