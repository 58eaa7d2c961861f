"""The note in the title row of a shared page: who shared it, and until when."""

from __future__ import annotations

from domain import Share
from web import markup
from web.access.roles import current_share_id
from web.times import DAYS, time_html
from web.visibility import current_share


def guest_note_html() -> str:
    """Return the note for a guest, '' for a member."""
    share = current_share() if current_share_id() else None
    return note_html(share) if share else ""


def note_html(share: Share) -> str:
    """Return 'Shared by Ann (operator), read-only, until 3 Dec 2026'."""
    creator = share.created_by if "(" in share.created_by else f"the {share.created_by}"
    end = time_html(share.expires_at, DAYS)
    return f'<p class="pw-muted pw-shared">Shared by {markup.text(creator)}, read-only, until {end}</p>'
