"""URLs of servers: as a person types them, as a config implies them, and what is none."""

from __future__ import annotations

import pytest

from domain import Config
from launcher.checks.launch_request import LaunchRefusedError, read_ready_url
from web.launch.launch_form import default_ready_url


@pytest.mark.parametrize(
    ("typed", "base_url", "path"),
    [
        ("", None, None),
        (" http://127.0.0.1:9000/health ", "http://127.0.0.1:9000", "/health"),
        ("127.0.0.1:9000/health", "http://127.0.0.1:9000", "/health"),
        ("localhost:9000/health", "http://localhost:9000", "/health"),
        ("localhost:9000", "http://localhost:9000", None),
        ("https://box/a/ready?deep=1&of=http://b", "https://box", "/a/ready?deep=1&of=http://b"),
        ("box:9000?deep=1", "http://box:9000", "?deep=1"),
        ("[::1]:9000/health", "http://[::1]:9000", "/health"),
    ],
)
def test_a_readiness_url_is_read_as_it_is_typed(typed: str, base_url: str | None, path: str | None) -> None:
    assert read_ready_url(typed) == (base_url, path)


@pytest.mark.parametrize(
    "typed", ["/health", "ftp://box/health", "box:70000", "box:0", "when it is ready", "http://[::1"]
)
def test_what_is_no_url_is_refused(typed: str) -> None:
    with pytest.raises(LaunchRefusedError, match=r"is not the address of a server\. Example: http://127"):
        read_ready_url(typed)


def test_readiness_url_with_password_is_refused() -> None:
    with pytest.raises(LaunchRefusedError, match="must not contain a user name or password"):
        read_ready_url("http://me:geheim@box:9000/health")


@pytest.mark.parametrize(
    ("config", "url"),
    [
        (Config(engine="vllm", host="10.0.0.5"), "http://10.0.0.5:8000/health"),
        (Config(engine="sglang", host="0.0.0.0", port=9), "http://127.0.0.1:9/health"),
        (Config(engine="vllm", host="::1", port=9), "http://[::1]:9/health"),
        (Config(engine="vllm", host="[fd00::5]", port=9), "http://[fd00::5]:9/health"),
        (Config(engine="vllm", host="::", port=9), "http://127.0.0.1:9/health"),
        (Config(engine="other", port=9), "http://127.0.0.1:9/v1/models"),
        (Config(engine="other"), "No port in the command. Enter a URL."),
        (None, "No port in the command. Enter a URL."),
    ],
)
def test_where_a_server_will_be_asked_is_shown(config: Config | None, url: str) -> None:
    assert default_ready_url(config) == url
