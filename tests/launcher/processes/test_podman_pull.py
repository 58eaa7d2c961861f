"""An image that is not here: podman pulls it from a registry, served on loopback by a few lines (FAKE: only reads)."""

from __future__ import annotations

import http.server
import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain import RunState
from launcher.runs.supervisor import Supervisor
from tests.launcher.processes.podman import check_nothing_is_left, podman, request
from tests.launcher.servers import DictStore, wait_for, wait_for_state

pytestmark = [
    pytest.mark.podman,
    pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed"),
]
FINAL = (RunState.FINISHED, RunState.FAILED)
PULLED = "pulling the image"


class Registry(http.server.ThreadingHTTPServer):
    """FAKE registry: one image out of an OCI layout; its blobs are kept back until `may_go` is set."""

    def __init__(self, layout: Path) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.layout = layout
        self.may_go = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def image(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}/pitwall/pulled:1"


class Answer(http.server.BaseHTTPRequestHandler):
    server: Registry

    def do_GET(self) -> None:
        (manifest,) = json.loads((self.server.layout / "index.json").read_text())["manifests"]
        kind, name = self.path.rsplit("/", 2)[-2:]
        if kind == "blobs":
            self.server.may_go.wait()
        digest = manifest["digest"] if kind == "manifests" else name
        body = self.server.layout.joinpath("blobs", *digest.split(":")).read_bytes() if name else b"{}"
        self.send_response(200)
        self.send_header("Content-Type", manifest["mediaType"] if kind == "manifests" else "application/octet-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Said to nobody."""


@pytest.fixture
def registry(image: str, tmp_path: Path) -> Iterator[Registry]:
    podman("save", "--format", "oci-dir", "-o", str(tmp_path / "layout"), image)
    with Registry(tmp_path / "layout") as served:
        yield served
        served.may_go.set()
        podman("rmi", "-f", "-i", served.image)
        served.shutdown()


def test_pull_is_the_phase_until_container_runs(registry: Registry, supervisor: Supervisor, store: DictStore) -> None:
    run = supervisor.launch(request(registry.image, flags=("--tls-verify=false",)))
    wait_for(lambda: store.run(run.id).phase == PULLED, 60)
    assert store.run(run.id).state is RunState.STARTING
    registry.may_go.set()
    ready = wait_for_state(store, run.id, RunState.READY, *FINAL)
    assert ready.state is RunState.READY and ready.phase is None, ready.cause
    wait_for(lambda: "container" in (store.run(run.id).provenance or {}), 60)
    assert store.run(run.id).provenance["container"]["image"] == registry.image
    supervisor.stop(run.id)
    check_nothing_is_left(wait_for_state(store, run.id, *FINAL))


def test_stop_during_pull_leaves_nothing(registry: Registry, supervisor: Supervisor, store: DictStore) -> None:
    run = supervisor.launch(request(registry.image, flags=("--tls-verify=false",)))
    wait_for(lambda: store.run(run.id).phase == PULLED, 60)
    supervisor.stop(run.id)
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.state is RunState.FINISHED, ended.cause
    check_nothing_is_left(ended)
    assert podman("images", "-q", registry.image) == ""


def test_missing_image_fails_in_podmans_words(registry: Registry, supervisor: Supervisor, store: DictStore) -> None:
    registry.layout.joinpath("index.json").unlink()
    run = supervisor.launch(request(registry.image, flags=("--tls-verify=false",)))
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.state is RunState.FAILED
    assert ended.cause and ended.cause.startswith("podman could not start the container: Error: "), ended.cause
    check_nothing_is_left(ended)
