"""The refusals of the access check: a page for a browser, JSON for a program."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, JSONResponse, Response

from web.access.signin_page import ProviderLink, signin_page

LINK_EXPIRED = "This link was revoked, has expired, or is incomplete. Ask the sender for a new one."
WRONG_TOKEN = "This token is out of date. Use the link from the latest start."
READ_ONLY = "It shows only what was shared, and cannot change anything."
NOT_YOUR_ROLE = "Only the operator may do this."
HOW_PROGRAMS_SIGN_IN = "Programs must send 'Authorization: Bearer <token>'; create a token with `./pitwall token make`."
HOW_TO_SIGN_IN = "Open the URL that Pitwall printed when it started; it contains the token and sets a cookie."


def _wants_page(headers: Headers) -> bool:
    return "text/html" in headers.get("accept", "")


def forbidden(headers: Headers, reason: str) -> Response:
    """Return status 403 with its reason, for a request from another site or one that is not allowed."""
    if _wants_page(headers):
        return HTMLResponse(signin_page("Access denied", reason, form=None), status_code=403)
    return JSONResponse({"error": reason}, status_code=403)


def read_only(headers: Headers, home: str) -> Response:
    """Return status 403 for a guest who asks for more than what was shared."""
    if _wants_page(headers):
        return HTMLResponse(signin_page("This link is read-only", READ_ONLY, form=None, home=home), status_code=403)
    return JSONResponse({"error": READ_ONLY}, status_code=403)


def beyond_role(headers: Headers, home: str) -> Response:
    """Return status 403 for a member whose role does not allow this."""
    if _wants_page(headers):
        return HTMLResponse(
            signin_page("Not allowed for your role", NOT_YOUR_ROLE, form=None, home=home), status_code=403
        )
    return JSONResponse({"error": NOT_YOUR_ROLE}, status_code=403)


def expired_link(headers: Headers, status_code: int = 410, home: str | None = None) -> Response:
    """Return the refusal of a link that is not valid, and (401) of a browser whose link no longer is.

    home: the first page, for a visitor who may be signed in otherwise.
    """
    if _wants_page(headers):
        answer: Response = HTMLResponse(
            signin_page("This link is no longer valid", LINK_EXPIRED, form=None, home=home), status_code
        )
    else:
        answer = JSONResponse({"error": LINK_EXPIRED}, status_code)
    answer.headers["cache-control"] = "no-store"
    return answer


def sign_in_required(
    headers: Headers, query: list[tuple[str, str]], reason: str, provider_link: ProviderLink | None = None
) -> Response:
    """Return status 401 with the sign-in form; `reason` says what was wrong with the visitor's token."""
    text = reason or HOW_TO_SIGN_IN
    if _wants_page(headers):
        remaining_query = [(name, value) for name, value in query if name != "token"]
        answer: Response = HTMLResponse(
            signin_page("Sign in to Pitwall", text, form=remaining_query, provider_link=provider_link), 401
        )
    else:
        answer = JSONResponse({"error": text}, status_code=401)
    answer.headers["cache-control"] = "no-store"
    return answer


def program_unknown(reason: str) -> Response:
    """Return status 401 for a program without a valid token."""
    return JSONResponse({"error": reason}, status_code=401, headers={"cache-control": "no-store"})
