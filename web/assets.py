"""Serves the static files under web/static; the browser fetches nothing from elsewhere."""

from __future__ import annotations

import asyncio
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
    paths, compressed = asset_paths(), dict[str, bytes]()

    async def serve(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in paths:
            return PlainTextResponse("No such file.", status_code=404)
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(await asyncio.to_thread(paths[name].read_bytes), media_type=kind, headers=FOREVER)
        if name not in compressed:
            compressed[name] = await asyncio.to_thread(gzip_file, paths[name])
        return Response(compressed[name], media_type=kind, headers={**FOREVER, "content-encoding": "gzip"})

    return Route(f"{assets_url(base_path)}/{{name:path}}", serve)


def gzip_file(path: Path) -> bytes:
    """Return a file's content compressed, the same bytes each time."""
    return gzip.compress(path.read_bytes(), mtime=0)
