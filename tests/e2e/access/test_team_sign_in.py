"""A person signs in through a real OpenID provider, in Chromium, at a Pitwall below a path."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.pitwall_process import Pitwall
from tests.e2e.seeds import seed_finished
from tests.ports import free_ports

provider_mock = pytest.importorskip("oidc_provider_mock")
pytestmark = [pytest.mark.browser, pytest.mark.pages]
LASTS = timedelta(seconds=45)


@pytest.fixture
def issuer() -> Iterator[str]:
    ann = provider_mock.User(sub="ann", claims={"email": "ann@example.test", "email_verified": True})
    with provider_mock.run_server_in_thread(user_claims=[ann], access_token_max_age=LASTS) as server:
        yield f"http://127.0.0.1:{server.server_port}"


@pytest.fixture
def pitwall(tmp_path: Path, issuer: str) -> Iterator[Pitwall]:
    port = free_ports(1)[0]
    public = {"PITWALL_PUBLIC_URL": f"http://127.0.0.1:{port}/pitwall"}
    pitwall = Pitwall(tmp_path / "data", port, environ=public, base_path="/pitwall")
    seed_finished(pitwall.data, "One")
    team = pitwall.data / "sign-in.toml"
    team.touch(mode=0o600)
    team.write_text(
        f'issuer = "{issuer}"\nclient_id = "pitwall"\nclient_secret = "s"\n[roles.viewer]\nemail = ["*@example.test"]\n'
    )
    pitwall.start()
    yield pitwall
    pitwall.end_everything()


def test_team_viewer_returns_until_token_expiry(browser: Browser, pitwall: Pitwall) -> None:
    context = browser.new_context()
    page = context.new_page()
    text = f"{pitwall.url}/sql?sql=SELECT+42+AS+answer"
    page.goto(text)
    page.get_by_role("link", name="Sign in with 127.0.0.1").click()
    page.get_by_placeholder("sub").fill("ann")
    page.get_by_role("button", name="Authorize").click()
    page.wait_for_url(text)
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()
    expect(page.get_by_role("link", name="Launch")).to_have_count(0)
    page.goto(f"{pitwall.url}/")
    expect(page.get_by_text("You are signed in as ann@example.test (viewer).")).to_be_visible()
    expect(page.get_by_role("link", name="Sign in with 127.0.0.1")).to_be_visible()  # the token is over: by itself
    context.close()
