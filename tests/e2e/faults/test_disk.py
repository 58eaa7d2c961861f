"""A whole Pitwall on a disk that is full or cannot be written: it says so, loses nothing, and goes on."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from settings import Settings
from tests.e2e.conftest import signed_in
from tests.e2e.pitwall_process import Pitwall, wait_until
from tests.e2e.stand_ins import StandIns
from tests.ports import free_ports

pytestmark = [pytest.mark.wide, pytest.mark.browser, pytest.mark.timeout(600)]
DISK = "size=40m"
STUCK = "Pitwall cannot store data at the moment; gaps will be filled later"
EVERY_LINE = 'SELECT count(*), count(DISTINCT "offset") FROM log_samples'


def mount(place: Path, options: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], check=True, capture_output=True)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Pitwall]:
    """Its data folder is a small disk of its own; not started yet."""
    pitwall = Pitwall(tmp_path / "data", free_ports(1)[0])
    pitwall.data.mkdir()
    try:
        mount(pitwall.data, DISK)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a small file system is refused here")
    yield pitwall
    pitwall.end_everything()
    subprocess.run(["umount", "-l", str(pitwall.data)], check=True)


def refused_start(pitwall: Pitwall) -> str:
    with pytest.raises(AssertionError, match="Pitwall cannot start"):
        pitwall.start()
    assert pitwall.process and pitwall.process.wait(60) == 1
    assert "Traceback" not in pitwall.said
    return pitwall.said


def fill(place: Path) -> bool:
    """Take what room there is left."""
    with pytest.raises(OSError, match="No space"), (place / "ballast").open("ab", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return True


def test_read_only_folder_refused_in_a_sentence(small: Pitwall) -> None:
    mount(small.data, f"remount,ro,{DISK}")
    assert "signing.key can be neither read nor created: Read-only file system." in refused_start(small)
    mount(small.data, f"remount,rw,{DISK}")
    small.start()
    small.terminate(60)
    mount(small.data, f"remount,ro,{DISK}")
    assert "store.claim cannot be opened: Read-only file system." in refused_start(small)


def test_full_disk_is_shown_and_loses_nothing(small: Pitwall, tmp_path: Path, browser: Browser) -> None:
    with StandIns(Settings(data_dir=small.data), tmp_path / "logs", count=1, lines_per_s=20) as servers:
        small.start()
        context = signed_in(browser, small)
        page = context.new_page()
        page.goto(f"{small.url}/live?run={servers.run_ids[0]}")
        status = page.locator(".lv-status")
        expect(status).to_have_text("Live")
        wait_until(lambda: small.sql(EVERY_LINE)[0][0] > 0, 60)
        # Publishing is the first that fails, and what it lets go serves the writer for a while: so again and again.
        wait_until(lambda: fill(small.data) and status.inner_text() == STUCK, 120)
        assert httpx.get(f"{small.url}/healthz").status_code == 503
        other_page = context.new_page()
        other_page.goto(small.url)
        expect(other_page.get_by_role("alert").first).to_contain_text("No space left on device")
        held = small.sql(EVERY_LINE)[0][0]
        (small.data / "ballast").unlink()
        wait_until(small.is_up, 60)
        expect(status).to_have_text("Live")
        servers.end()
        wait_until(lambda: set(small.states().values()) == {"finished"}, 60)
        lines = servers.count_lines()
        wait_until(lambda: small.sql(EVERY_LINE) == [(lines, lines)], 60)
        assert lines > held > 0
    context.close()
