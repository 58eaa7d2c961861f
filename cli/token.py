"""`./pitwall token make|list|revoke`: the tokens of programs, from a shell that may read the data folder."""

from __future__ import annotations

import argparse
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

from cli.answers import Answer, add_command, who
from cli.exit_status import DONE, REFUSED

if TYPE_CHECKING:
    from web.access.tokens import ApiToken, TokenBook

SCOPES = ("live:read", "sql:read", "lake:read", "agent:write", "sign-in:editor", "sign-in:viewer")
DAYS = 90.0


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall token make`, `list` and `revoke` to the parser."""
    words = "make, list and revoke the tokens by which programs read Live and SQL, or send samples of a run"
    token = commands.add_parser("token", help=words, description=words)
    orders = token.add_subparsers(dest="order", required=True, metavar="ORDER")
    words = "print a new token, once; a running Pitwall takes it from then on"
    made = orders.add_parser("make", help=words, description=words)
    made.add_argument("scopes", nargs="+", choices=SCOPES, metavar="SCOPE", help=" or ".join(SCOPES))
    made.add_argument("--run", dest="run_id", metavar="RUN", help="of agent:write: the one run that may be written to")
    made.add_argument("--days", type=float, default=DAYS, metavar="N", help=f"until it ends (default: {DAYS:g})")
    made.add_argument("--note", default="", metavar="TEXT", help="what it is for, as the list shows it")
    made.set_defaults(run=make)
    add_command(orders, "list", list_all, "print the tokens; what they open is known, their text is not")
    revoked = add_command(orders, "revoke", revoke, "end tokens now")
    revoked.add_argument("ids", nargs="+", metavar="ID", help="as the list names it")


def make(arguments: argparse.Namespace) -> int:
    """The text on standard output, all else on standard error; raises TokenError, StoreError."""
    from redaction import mask_text
    from web.access.tokens import Scope

    if arguments.run_id and not _is_there(arguments.run_id):
        print(f"There is no run {arguments.run_id}.", file=sys.stderr)
        return REFUSED
    scopes = [Scope(word) for word in arguments.scopes]
    token, text = _book().make(scopes, arguments.run_id, _lasting(arguments.days), mask_text(arguments.note), who())
    print(f"{token.in_words()}. It is shown this once:", file=sys.stderr)
    print(text, end="\n" if sys.stdout.isatty() else "")  # a file holds the token and nothing else
    return DONE


def _lasting(days: float) -> timedelta:
    """What no calendar holds is as wrong as too long is."""
    try:
        return timedelta(days=days)
    except (ValueError, OverflowError):
        return timedelta.max


def list_all(arguments: argparse.Namespace) -> Answer:
    """Every token, its scopes, maker, end and last use; not its text, which is not kept."""
    tokens = _book().all()
    shown = [token.model_dump(mode="json", exclude={"digest"}) | {"over": _over(token)} for token in tokens]
    lines = [f"{one.in_words()}, made by {one.made_by}. {_over(one) or _use(one)}" for one in tokens]
    return Answer("\n".join(lines) or "There are no tokens.", {"tokens": shown})


def revoke(arguments: argparse.Namespace) -> Answer:
    """Raises TokenError at the first id that is none."""
    words = [f"Revoked: {_book().revoke(token_id, who()).in_words()}" for token_id in arguments.ids]
    return Answer("\n".join(words), {"revoked": arguments.ids})


def _book() -> TokenBook:
    from settings import load_settings
    from web.access.tokens import TokenBook

    return TokenBook(load_settings().tokens_path)


def _over(token: ApiToken) -> str | None:
    from domain import utc_now

    return token.why_over(utc_now())


def _use(token: ApiToken) -> str:
    used = token.last_used_at
    return f"Last used {used:%Y-%m-%d %H:%M} UTC." if used else "Not used yet, as far as the file knows."


def _is_there(run_id: str) -> bool:
    from settings import load_settings
    from storage.ask.run_queries import runs_of
    from storage.published import Published
    from storage.published_query import published_query

    with published_query(load_settings().published_path) as query:
        return bool(runs_of(Published(query), [run_id]))
