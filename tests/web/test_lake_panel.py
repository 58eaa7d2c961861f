"""The panel of the lake: what of it goes over the network in clear, as the shipper has read it in lake.toml."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from machine.private_files import write_private
from service.lake_shipping import LakeShipping, ShippingState
from settings import Settings
from tests.web.conftest import ProvideServices
from web.markup import markdown_text

PANEL = """
from web.machines.lake_panel import lake_section
from web.sections import show_sections

show_sections("runs", [lake_section()])
"""
LAKE_TOML = """catalogue = "host=127.0.0.1 port=1 dbname=lake"
data_path = "s3://bucket/pitwall/"
[s3]
endpoint = "s3.example.org:9000"
key_id = "key"
secret = "hidden"
"""


def shipping(tmp_path: Path, more: str = "") -> LakeShipping:
    """One try at a lake that does not answer."""
    settings = Settings(data_dir=tmp_path)
    write_private(settings.lake_path, (LAKE_TOML + more).encode())
    lake_shipping = LakeShipping(settings, SimpleNamespace(query=None))  # type: ignore[arg-type]
    lake_shipping.tick()
    return lake_shipping


def warnings(monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices, state: ShippingState) -> list[str]:
    provided = SimpleNamespace(shipping=SimpleNamespace(state=state))
    provide_services(provided)
    for room in ("web.actions", "web.access.roles"):
        monkeypatch.setattr(f"{room}.current_role", lambda: "operator")
    page = AppTest.from_string(PANEL, default_timeout=60)
    page.query_params["fold"] = "lake"
    page.run()
    assert not page.exception
    return [warning.value for warning in page.warning]


def test_unencrypted_shipping_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices
) -> None:
    state = shipping(tmp_path, "use_ssl = false\n").state
    assert state.failure and len(state.in_clear) == 1
    assert "unencrypted" in state.in_clear[0] and "s3.example.org:9000" in state.in_clear[0]
    actual_warnings = warnings(monkeypatch, provide_services, state)
    assert markdown_text(state.in_clear[0]) in actual_warnings
    assert not any("hidden" in text for text in actual_warnings)


def test_by_tls_nothing_is_said_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices
) -> None:
    state = shipping(tmp_path).state
    assert state.failure and state.in_clear == ()
    assert not any("unencrypted" in text for text in warnings(monkeypatch, provide_services, state))
