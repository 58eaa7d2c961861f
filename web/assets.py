"""Serves the static files under web/static; the browser fetches nothing from elsewhere."""

from __future__ import annotations

import functools
import gzip
import hashlib
import mimetypes
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

STATIC = Path(__file__).resolve().parent / "static"
FOREVER = {"cache-control": "public, max-age=31536000, immutable", "vary": "accept-encoding"}


def asset_paths() -> dict[str, Path]:
    """Return every static file by its path below the assets URL."""
    return {str(path.relative_to(STATIC)): path for path in sorted(STATIC.rglob("*")) if path.is_file()}


@functools.cache
def assets_url(base_path: str = "") -> str:
    """Return the base URL of the static files; it changes with their content, so they can be cached forever."""
    digest = hashlib.sha256()
    for name, path in asset_paths().items():
        digest.update(name.encode() + b"\0" + path.read_bytes())
    return f"{base_path}/assets/{digest.hexdigest()[:12]}"


def assets_route(base_path: str = "") -> Route:
    """Return the route that serves the static files, each compressed once."""
    paths = asset_paths()

    @functools.cache
    def compressed(name: str) -> bytes:
        return gzip.compress(paths[name].read_bytes(), mtime=0)

    def serve(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in paths:
            return PlainTextResponse("No such file.", status_code=404)
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(compressed(name), media_type=kind, headers={**FOREVER, "content-encoding": "gzip"})
        return Response(paths[name].read_bytes(), media_type=kind, headers=FOREVER)

    return Route(f"{assets_url(base_path)}/{{name:path}}", serve)
