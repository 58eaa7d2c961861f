"""The shared view-only links: creates, signs, looks up and revokes them."""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from itsdangerous import BadSignature, URLSafeSerializer

from domain import AuditEntry, Share, Study
from errors import PitwallError
from settings import Settings
from storage.queries.run_queries import runs_of_batch
from storage.queries.share_queries import OPENED, link_openings
from storage.store import Store

LOOK_EVERY_S = 1.0
EVER = datetime(1970, 1, 1, tzinfo=UTC)
_log = logging.getLogger(__name__)


def share_url(settings: Settings) -> str:
    """Return the base URL of links: the public one, else one by which others can reach this machine."""
    everywhere = settings.public_url is None and settings.host in ("0.0.0.0", "::")
    reachable = settings.model_copy(update={"host": socket.gethostname()}) if everywhere else settings
    return reachable.url


class ShareBook:
    """All shares: in memory for the access check of every request, and in the store so that they survive a restart.

    A link's token is the share's signed id; only the id is stored. `url` is Pitwall's address without a trailing slash.
    """

    def __init__(self, secret: bytes, url: str, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._signer = URLSafeSerializer(secret, salt="share")
        self._url = url
        self._clock = clock
        self._store: Store | None = None
        self._shares: dict[str, Share] = {}
        self._study_runs: dict[str, tuple[str, ...]] = {}  # study id -> its runs at the last refresh
        self._opened_ids: set[str] = set()  # of links that somebody has opened

    def load(self, store: Store) -> None:
        """Load the shares from the store; until then no link is valid."""
        self._store = store
        self._shares = {share.id: share for share in store.shares()}
        self._opened_ids = {row["share_id"] for row in link_openings(store, EVER)}

    def note_opening(self, share: Share) -> None:
        """Record in the audit that a link was opened, the first time only; never waits for the store."""
        if share.id in self._opened_ids or self._store is None:
            return
        self._opened_ids.add(share.id)
        try:
            self._store.record([AuditEntry(self._clock(), "guest", OPENED, None, f"link {share.id}")])
        except PitwallError as error:  # the store is closing
            _log.warning("The first opening of a link was not recorded: %s", error)

    def all(self) -> list[Share]:
        """Return every share ever made, the newest first."""
        return sorted(self._shares.values(), key=lambda share: share.created_at, reverse=True)

    def is_open(self, share: Share) -> bool:
        """Whether the share's link is still valid by this book's clock."""
        return share.is_open(self._clock())

    def find_open(self, share_id: str) -> Share | None:
        """Return the share of this id if it is valid; a study's share with the runs known so far."""
        share = self._shares.get(share_id)
        if share is None or not self.is_open(share):
            return None
        study_runs = self._study_runs.get(share.study_id or "", ())
        return (
            share.model_copy(update={"run_ids": tuple(dict.fromkeys([*share.run_ids, *study_runs]))})
            if study_runs
            else share
        )

    def read_token(self, token: str) -> Share | None:
        """Return the share of a token; None if the token is forged or the share is revoked or expired."""
        try:
            return self.find_open(str(self._signer.loads(token)))
        except BadSignature:
            return None

    def token(self, share: Share) -> str:
        """Return the share's signed id, which the link contains and nobody else can create."""
        return str(self._signer.dumps(share.id))

    def link(self, share: Share) -> str:
        """Return the URL to give to a teammate."""
        return f"{self._url}/share/{self.token(share)}"

    def seconds_left(self, share: Share) -> int:
        """Return whole seconds until the share expires, never below 0, even if it was revoked."""
        return max(0, int((share.expires_at - self._clock()).total_seconds()))

    def make(
        self,
        run_ids: Sequence[str],
        page: str,
        lasts: timedelta,
        by: str,
        note: str | None = None,
        *,
        study: Study | None = None,
        query: str | None = None,
    ) -> Share:
        """Create and store a share of exactly these runs, or of a study. Raises ValueError without either.

        query: the address's other parameters.
        """
        if not run_ids and study is None:
            raise ValueError("A link needs at least one run to show.")
        now = self._clock()
        share = Share(
            id=secrets.token_urlsafe(9),
            run_ids=tuple(dict.fromkeys(run_ids)),
            page=page,
            created_at=now,
            created_by=by,
            expires_at=now + lasts,
            note=note,
            study_id=study.id if study else None,
            query=query,
        )
        return self._keep(share)

    def refresh_study(self, study_id: str) -> None:
        """Cache a study's current runs: the access check needs them at every request and must not query the store."""
        runs = runs_of_batch(self._opened, study_id)
        self._study_runs = {**self._study_runs, study_id: tuple(run.id for run in runs)}

    def revoke(self, share_id: str) -> Share:
        """End a share now; its open pages are closed within about a second. Raises KeyError for an unknown one."""
        share = self._shares[share_id]
        return share if share.revoked_at else self._keep(share.model_copy(update={"revoked_at": self._clock()}))

    @property
    def _opened(self) -> Store:
        if self._store is None:
            raise RuntimeError("The shares have not been loaded: app.py does that when it opens the store.")
        return self._store

    def _keep(self, share: Share) -> Share:
        self._opened.save_share(share)
        self._shares = {**self._shares, share.id: share}
        return share

    async def wait_for_end(self, share_id: str) -> None:
        """Return once the share is no longer valid."""
        while self.find_open(share_id):
            await asyncio.sleep(LOOK_EVERY_S)
