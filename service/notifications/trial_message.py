"""The message that people send to see whether a channel works."""

from __future__ import annotations

from domain import new_run_id, utc_now
from service.notifications.notification import Notification

TEST = "test"


def trial_notification(url: str) -> Notification:
    """Return a test message; `url`: Pitwall's address."""
    now = utc_now()
    text = "This is a test. Pitwall's notifications arrive here."
    return Notification(id=f"test:{new_run_id(now)}", kind=TEST, at=now, title="Pitwall", text=text, link=f"{url}/")
