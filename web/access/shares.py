"""The view-only links that were given out: made, signed, looked up at every request, ended."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from itsdangerous import BadSignature, URLSafeSerializer

from domain import Share, Study
from settings import Settings
from storage.ask.run_queries import runs_of_batch
from storage.store import Store

LOOK_EVERY_S = 1.0


def share_url(settings: Settings) -> str:
    """The address that links begin with: the public one, else by which others can reach this machine."""
    everywhere = settings.public_url is None and settings.host in ("0.0.0.0", "::")
    reached = settings.model_copy(update={"host": socket.gethostname()}) if everywhere else settings
    return reached.url


class ShareBook:
    """All shares, in memory because the access check asks at every request, and in the store because they outlive us.

    A link's token is the share's id, signed; only the id is stored. `url` is where Pitwall is reached, without a
    slash at its end.
    """

    def __init__(self, secret: bytes, url: str, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._signer = URLSafeSerializer(secret, salt="share")
        self._url = url
        self._clock = clock
        self._store: Store | None = None
        self._shares: dict[str, Share] = {}
        self._of_study: dict[str, tuple[str, ...]] = {}  # study id -> its runs when it was last looked at

    def load(self, store: Store) -> None:
        """Take up what the store holds; until then no link opens anything."""
        self._store = store
        self._shares = {share.id: share for share in store.shares()}

    def all(self) -> list[Share]:
        """Every share that was ever made, the newest first."""
        return sorted(self._shares.values(), key=lambda share: share.created_at, reverse=True)

    def is_open(self, share: Share) -> bool:
        """Whether its link still opens anything, by this book's clock."""
        return share.is_open(self._clock())

    def find_open(self, share_id: str) -> Share | None:
        """The share of this id while it opens anything; of a study with the runs that it is known to have."""
        share = self._shares.get(share_id)
        if share is None or not self.is_open(share):
            return None
        more = self._of_study.get(share.study_id or "", ())
        return share.model_copy(update={"run_ids": tuple(dict.fromkeys([*share.run_ids, *more]))}) if more else share

    def read_token(self, token: str) -> Share | None:
        """The share that a token opens; None when it is forged, revoked or past its end."""
        try:
            return self.find_open(str(self._signer.loads(token)))
        except BadSignature:
            return None

    def token(self, share: Share) -> str:
        """Its id with our signature: what the link carries, and what nobody else can make."""
        return str(self._signer.dumps(share.id))

    def link(self, share: Share) -> str:
        """What to give to a teammate."""
        return f"{self._url}/share/{self.token(share)}"

    def seconds_left(self, share: Share) -> int:
        """Whole seconds until it expires, never below 0; that it was revoked is not seen here."""
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
        """A new share of exactly these runs, or of a study; durable when it returns. Raises ValueError without either.

        query: what the address says beside the runs.
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

    def look_at_study(self, study_id: str) -> None:
        """Note the runs that a study has by now: the access check asks at every request and must not ask the store."""
        runs = runs_of_batch(self._opened, study_id)
        self._of_study = {**self._of_study, study_id: tuple(run.id for run in runs)}

    def revoke(self, share_id: str) -> Share:
        """End a share now; open pages of it are closed within about a second. Raises KeyError for an unknown one."""
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
        """Return once the share opens nothing any more."""
        while self.find_open(share_id):
            await asyncio.sleep(LOOK_EVERY_S)
