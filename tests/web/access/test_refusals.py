"""A refusal says what is wrong, and leads back where its visitor may go."""

from __future__ import annotations

from starlette.datastructures import Headers

from web.access.refusals import expired_link, read_only

BROWSER = Headers({"accept": "text/html"})


def test_refusals_lead_back() -> None:
    for answer in (read_only(BROWSER, "/pit/"), expired_link(BROWSER, home="/pit/")):
        assert '<a href="/pit/">Go to the start page</a>' in bytes(answer.body).decode()
    assert "This link is read-only" in bytes(read_only(BROWSER, "/").body).decode()
    assert "start page" not in bytes(expired_link(BROWSER).body).decode(), "none to go to is known"
