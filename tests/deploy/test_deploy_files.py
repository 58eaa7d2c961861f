"""The files of `deploy/` and the Containerfile agree with the product: extras, settings, units, the document."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from settings import Settings

ROOT = Path(__file__).resolve().parents[2]
CONTAINERFILE = (ROOT / "Containerfile").read_text()
DOCUMENT = (ROOT / "docs/installation.md").read_text()
VARIABLE = re.compile(r"PITWALL_[A-Z_]+")
KNOWN = {"PITWALL_DATA", *(f"PITWALL_{name.upper()}" for name in Settings.model_fields if name != "data_dir")}


def test_the_image_never_runs_as_root_and_listens_to_this_machine() -> None:
    user = re.findall(r"^USER (\S+)$", CONTAINERFILE, re.MULTILINE)
    assert user == ["pitwall"] and CONTAINERFILE.index("USER pitwall") < CONTAINERFILE.index("ENTRYPOINT")
    compose = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())
    assert all(port.startswith("127.0.0.1:") for port in compose["services"]["pitwall"]["ports"])
    assert "PublishPort=127.0.0.1:" in (ROOT / "deploy/pitwall.container").read_text()


def test_the_image_gets_no_data_and_no_environment_of_the_checkout() -> None:
    assert (ROOT / ".dockerignore").resolve() == ROOT / ".containerignore"
    ignored = (ROOT / ".containerignore").read_text().splitlines()
    assert {".*", "node_modules", "tests"} <= set(ignored), ".venv and .git begin with a dot"


@pytest.mark.parametrize(
    "name", ["Containerfile", "deploy/compose.yaml", "deploy/pitwall.container", "docs/installation.md"]
)
def test_each_variable_is_a_setting(name: str) -> None:
    assert set(VARIABLE.findall((ROOT / name).read_text())) <= KNOWN


def test_the_document_names_each_extra_and_each_file() -> None:
    extras = {path.name for path in ROOT.glob("requirements*.txt") if "dev" not in path.name}
    assert [name for name in sorted(extras) if f"`{name}`" not in DOCUMENT] == []
    assert set(re.findall(r"requirements-[\w-]+\.txt", CONTAINERFILE)) <= extras
    files = [path.relative_to(ROOT).as_posix() for path in (ROOT / "deploy").iterdir() if path.is_file()]
    assert [name for name in files if name not in DOCUMENT] == [] and len(files) == 3
    assert "Containerfile" in DOCUMENT


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "pitwall.service"
    unit.write_text((ROOT / "deploy/pitwall.service").read_text().replace("%h/pitwall", str(ROOT)))
    environ = os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)}
    argv = ["systemd-analyze", "verify", "--user", "--man=no", str(unit)]
    process = subprocess.run(argv, env=environ, capture_output=True, text=True)
    assert (process.returncode, process.stderr) == (0, "")
