"""What the access check answers instead of passing a request on: a page to a browser, JSON to a program."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, JSONResponse, Response

from web.access.signin_page import Way, signin_page

LINK_IS_OVER = "This link has been revoked, is past its end, or was cut short: ask whoever sent it for a new one."
WRONG_TOKEN = "This token is not the one of this start."
NOT_YOUR_ROLE = "Only the operator may do this."
HOW_PROGRAMS_SIGN_IN = "Programs send 'Authorization: Bearer <token>' with a token of `./pitwall token make`."
HOW_TO_SIGN_IN = "Open the URL that Pitwall printed at its start once; it carries the token and leaves a cookie."


def _wants_page(headers: Headers) -> bool:
    return "text/html" in headers.get("accept", "")


def forbidden(headers: Headers, reason: str) -> Response:
    """The answer with status 403 and its reason: to a request that is not from here, or may not do this."""
    if _wants_page(headers):
        return HTMLResponse(signin_page("Not from here", reason, form=None), status_code=403)
    return JSONResponse({"error": reason}, status_code=403)


def beyond_role(headers: Headers, home: str) -> Response:
    """The answer to a member of the team whose role does not reach so far."""
    if _wants_page(headers):
        return HTMLResponse(signin_page("Not in your role", NOT_YOUR_ROLE, form=None, home=home), status_code=403)
    return JSONResponse({"error": NOT_YOUR_ROLE}, status_code=403)


def over(headers: Headers, status_code: int = 410) -> Response:
    """The answer to a link that opens nothing, and to a browser (401) whose link did."""
    if _wants_page(headers):
        answer: Response = HTMLResponse(signin_page("This link is over", LINK_IS_OVER, form=None), status_code)
    else:
        answer = JSONResponse({"error": LINK_IS_OVER}, status_code)
    answer.headers["cache-control"] = "no-store"
    return answer


def unknown(headers: Headers, query: list[tuple[str, str]], reason: str, way: Way | None = None) -> Response:
    """The answer to whoever must sign in; `reason` says what was wrong with what they brought."""
    words = f"{reason} {HOW_TO_SIGN_IN}".strip()
    if _wants_page(headers):
        kept = [(name, value) for name, value in query if name != "token"]
        answer: Response = HTMLResponse(signin_page("Sign in to Pitwall", words, form=kept, way=way), 401)
    else:
        answer = JSONResponse({"error": words}, status_code=401)
    answer.headers["cache-control"] = "no-store"
    return answer


def unknown_program(reason: str) -> Response:
    """The answer to a program without a token that opens anything."""
    return JSONResponse({"error": reason}, status_code=401, headers={"cache-control": "no-store"})
