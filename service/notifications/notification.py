"""One notification and its kinds."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

MOST_TEXT = 1_000  # characters; chat services refuse long messages


class NotificationKind(StrEnum):
    """The events that people may be notified of."""

    STUDY_DECIDED = "study_decided"
    SERVER_FAILED = "server_failed"
    REGRESSION = "regression"
    LOAD_FAILED = "load_failed"
    STORE_TROUBLE = "store_trouble"
    SHARE_OPENED = "share_opened"


KIND_TITLES = {
    NotificationKind.STUDY_DECIDED: "A study ended",
    NotificationKind.SERVER_FAILED: "A server failed",
    NotificationKind.REGRESSION: "An upgrade made it slower",
    NotificationKind.LOAD_FAILED: "A load failed",
    NotificationKind.STORE_TROUBLE: "The disk or the store is in trouble",
    NotificationKind.SHARE_OPENED: "A shared link was opened for the first time",
}


class Notification(BaseModel):
    """One message about one event; texts are masked."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str  # of the event: the same event never notifies twice
    kind: str  # a NotificationKind, or 'test'
    at: datetime
    title: str
    text: str
    link: str  # the address of the page that shows it
