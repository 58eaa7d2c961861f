"""Behind nginx with TLS and a base path, set up with the very text of docs/reverse-proxy.md."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from domain import RunState
from tests.conftest import BROWSER_ARGS, PATIENCE_MS
from tests.e2e.page_at_rest import press
from tests.e2e.pitwall_process import ROOT, Pitwall, wait_until
from tests.e2e.seeds import seed_finished
from tests.ports import free_ports

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.pages,
    pytest.mark.skipif(NGINX is None, reason="nginx is not installed"),
]
NAME = "gpu.example"


def documented_site() -> str:
    return (ROOT / "docs" / "reverse-proxy.md").read_text().split("```nginx\n")[1].split("```")[0]


def write_config(folder: Path, port: int, pitwall_port: int) -> Path:
    """The documented site with our ports and a certificate of our own, in a whole nginx configuration."""
    key, certificate = folder / "site.key", folder / "site.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={NAME}"]
    subprocess.run([*make, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    site = documented_site()
    for name, field in {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "127.0.0.1:8501": f"127.0.0.1:{pitwall_port}",
        f"/etc/ssl/certs/{NAME}.pem": str(certificate),
        f"/etc/ssl/private/{NAME}.key": str(key),
    }.items():
        assert name in site
        site = site.replace(name, field)
    paths = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config = folder / "nginx.conf"
    config.write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log;\nevents {{}}\n"
        f"http {{ access_log off;\n{paths}{site}}}\n"
    )
    return config


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[tuple[Pitwall, str]]:
    """A Pitwall with one finished run behind nginx, and its public address."""
    port, pitwall_port = free_ports(2)
    public = f"https://{NAME}:{port}/pitwall"
    pitwall = Pitwall(tmp_path / "data", pitwall_port, environ={"PITWALL_PUBLIC_URL": public}, base_path="/pitwall")
    seed_finished(pitwall.data, state=RunState.FINISHED, cause=None)
    config = write_config(tmp_path, port, pitwall_port)
    pitwall.start()
    nginx = subprocess.Popen([str(NGINX), "-e", str(tmp_path / "error.log"), "-c", str(config)])
    try:
        wait_until((tmp_path / "pid").exists, 60)
        yield pitwall, public
    finally:
        nginx.terminate()
        nginx.wait(20)
        pitwall.end_everything()


def test_sign_in_push_and_share_through_nginx(proxied: tuple[Pitwall, str], browser: Browser) -> None:
    pitwall, public = proxied
    assert pitwall.links == [f"{public}/?token={pitwall.token}"]
    launch = browser.browser_type.launch(
        executable_path=os.environ.get("PITWALL_BROWSER", "/usr/bin/chromium"),
        args=[*BROWSER_ARGS, f"--host-resolver-rules=MAP {NAME} 127.0.0.1"],
    )
    operator = launch.new_context(ignore_https_errors=True)
    operator.set_default_timeout(PATIENCE_MS)
    page = operator.new_page()
    page.goto(f"{public}/?token={pitwall.token}")
    expect(page.get_by_text("Links and changes")).to_be_visible()
    [cookie] = [cookie for cookie in operator.cookies() if cookie["name"].startswith("__Host-pitwall-")]
    assert cookie["secure"] and cookie["httpOnly"]
    with page.expect_websocket(lambda socket: "/ws/live" in socket.url) as push:
        page.goto(f"{public}/live")
    assert push.value.url.startswith(public.replace("https", "wss"))
    push.value.wait_for_event("framereceived")
    press(page.get_by_role("button", name="Share", exact=True))
    press(page.get_by_role("button", name="Make a link"))
    link = page.get_by_role("dialog").locator("code", has_text="/share/").first.inner_text().strip()
    assert link.startswith(f"{public}/share/")
    expect(page.get_by_text("Pitwall listens on this machine only")).to_have_count(0)
    viewer = launch.new_context(ignore_https_errors=True).new_page()
    with viewer.expect_websocket(lambda socket: "/ws/live" in socket.url) as push:
        viewer.goto(link)
    push.value.wait_for_event("framereceived")
    assert viewer.url.startswith(f"{public}/live?run=")
    refused = viewer.goto(f"{public}/launch")
    assert refused and refused.status == 403
    launch.close()
