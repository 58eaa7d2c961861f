"""Notices when the store or its disk gets into trouble; each trouble notifies once, and again a day later."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta
from pathlib import Path

from redaction import mask_text
from reports.health import health_sentences
from service.notifications.notification import KIND_TITLES, MOST_TEXT, Notification, NotificationKind
from storage.health import StoreHealth

LEAST_FREE_BYTES = 2 << 30
LEAST_FREE_SHARE = 0.02
AGAIN_AFTER = timedelta(days=1)


class StoreWatch:
    """Remembers which troubles were reported; used by one thread."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder, self._url = folder, url
        self._reported: dict[str, datetime] = {}  # what is wrong -> when it was reported

    def look(self, health: StoreHealth, now: datetime) -> list[Notification]:
        """Return notifications of new troubles."""
        troubles = troubles_of(health, self._folder)
        self._reported = {name: at for name, at in self._reported.items() if name in troubles}
        new_troubles = {
            name: text
            for name, text in troubles.items()
            if name not in self._reported or now - self._reported[name] >= AGAIN_AFTER
        }
        self._reported |= dict.fromkeys(new_troubles, now)
        return [
            Notification(
                id=f"store:{name}:{now.timestamp():.0f}",
                kind=NotificationKind.STORE_TROUBLE,
                at=now,
                title=KIND_TITLES[NotificationKind.STORE_TROUBLE],
                text=mask_text(text)[:MOST_TEXT],
                link=f"{self._url}/",
            )
            for name, text in new_troubles.items()
        ]


def troubles_of(health: StoreHealth, folder: Path) -> dict[str, str]:
    """Return what is wrong now as a sentence, by a short name."""
    troubles = {}
    if sentences := health_sentences(health, (), {}):
        troubles["store"] = " ".join(sentences)
    try:
        usage = shutil.disk_usage(folder)
    except OSError as error:
        return troubles | {"disk": f"The data folder cannot be read: {error.strerror or type(error).__name__}."}
    if usage.free < min(LEAST_FREE_BYTES, usage.total * LEAST_FREE_SHARE):
        free = f"{usage.free / (1 << 30):.1f} GiB of {usage.total / (1 << 30):.0f} GiB are free"
        troubles["disk"] = f"The disk of the data folder is almost full: {free}."
    return troubles
