"""`./pitwall token make|list|revoke`: manages tokens from a shell with access to the data folder."""

from __future__ import annotations

import argparse
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

from cli.answers import Answer, add_command, audit_user
from cli.exit_status import DONE, REFUSED

if TYPE_CHECKING:
    from web.access.tokens import ApiToken, TokenBook

SCOPES = (
    "live:read", "metrics:read", "sql:read", "lake:read", "actions:propose", "agent:write", "sign-in:editor",
    "sign-in:viewer",
)  # fmt: skip
DAYS = 90.0


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall token make`, `list` and `revoke` to the parser."""
    help_text = "make, list and revoke tokens, with which programs read Live, metrics and SQL, or send samples of a run"
    token = commands.add_parser("token", help=help_text, description=help_text)
    orders = token.add_subparsers(dest="order", required=True, metavar="ORDER")
    help_text = "print a new token, only this once; a running Pitwall accepts it from then on"
    make_command = orders.add_parser("make", help=help_text, description=help_text)
    make_command.add_argument("scopes", nargs="+", choices=SCOPES, metavar="SCOPE", help=" or ".join(SCOPES))
    make_command.add_argument(
        "--run", dest="run_id", metavar="RUN", help="for agent:write: the only run that it may write to"
    )
    make_command.add_argument(
        "--days", type=float, default=DAYS, metavar="N", help=f"until it expires (default: {DAYS:g})"
    )
    make_command.add_argument("--note", default="", metavar="TEXT", help="its purpose, shown in the list")
    make_command.set_defaults(run=make)
    add_command(orders, "list", list_all, "print the tokens with their scopes; never their text")
    revoke_command = add_command(orders, "revoke", revoke, "revoke tokens now")
    revoke_command.add_argument("ids", nargs="+", metavar="ID", help="a token's id, as the list shows it")


def make(arguments: argparse.Namespace) -> int:
    """Print the token's text to standard output, everything else to standard error; raises TokenError, StoreError."""
    from redaction import mask_text
    from web.access.tokens import Scope

    if arguments.run_id and not _run_exists(arguments.run_id):
        print(f"There is no run {arguments.run_id}.", file=sys.stderr)
        return REFUSED
    scopes = [Scope(word) for word in arguments.scopes]
    token, text = _book().make(
        scopes, arguments.run_id, _lifetime(arguments.days), mask_text(arguments.note), audit_user()
    )
    print(f"{token.describe()}. It is shown only this once:", file=sys.stderr)
    print(text, end="\n" if sys.stdout.isatty() else "")  # a file contains only the token
    return DONE


def _lifetime(days: float) -> timedelta:
    """Return the lifetime; a value out of range becomes the longest one, which is refused as too long."""
    try:
        return timedelta(days=days)
    except (ValueError, OverflowError):
        return timedelta.max


def list_all(arguments: argparse.Namespace) -> Answer:
    """List every token with its scopes, maker, expiry and last use; its text is not stored."""
    tokens = _book().all()
    fields = [token.model_dump(mode="json", exclude={"digest"}) | {"over": _expiry_text(token)} for token in tokens]
    lines = [
        f"{token.describe()}, made by {token.made_by}. {_expiry_text(token) or _use_text(token)}" for token in tokens
    ]
    return Answer("\n".join(lines) or "There are no tokens.", {"tokens": fields})


def revoke(arguments: argparse.Namespace) -> Answer:
    """Revoke tokens; raises TokenError at the first unknown id."""
    lines = [f"Revoked: {_book().revoke(token_id, audit_user()).describe()}" for token_id in arguments.ids]
    return Answer("\n".join(lines), {"revoked": arguments.ids})


def _book() -> TokenBook:
    from settings import load_settings
    from web.access.tokens import TokenBook

    return TokenBook(load_settings().tokens_path)


def _expiry_text(token: ApiToken) -> str | None:
    from domain import utc_now

    return token.why_expired(utc_now())


def _use_text(token: ApiToken) -> str:
    last_used_at = token.last_used_at
    return f"Last used {last_used_at:%Y-%m-%d %H:%M} UTC." if last_used_at else "Not used yet, according to the file."


def _run_exists(run_id: str) -> bool:
    from settings import load_settings
    from storage.published import PublishedStore
    from storage.published_query import published_query
    from storage.queries.run_queries import runs_of

    with published_query(load_settings().published_path) as query:
        return bool(runs_of(PublishedStore(query), [run_id]))
