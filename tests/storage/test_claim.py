"""The claim to the store: who has it, who waits for whom, and that a killed process holds nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from settings import Settings
from storage.claim import claimed_store, is_store_claimed, open_handed_over
from storage.database import StoreError, StoreInCommandError, StoreInUseError, in_use_error
from storage.store import Store
from tests.demo_engine import ROOT

CLAIM = """
import sys
from pathlib import Path
from settings import Settings
from storage.claim import claimed_store

with claimed_store(Settings(data_dir=Path(sys.argv[1]))):
    print("claimed", flush=True)
    sys.stdin.read()
"""
OWN = """
import sys
from pathlib import Path
from settings import Settings
from storage.store import Store

store = Store.open(Settings(data_dir=Path(sys.argv[1])))
print("open", flush=True)
sys.stdin.read(int(sys.argv[2]))
store.close()
print("closed", flush=True)
sys.stdin.read()
"""


@contextmanager
def process_of(code: str, settings: Settings, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run code as a process that is said to be this command, until it says that it holds what it wants."""
    argv = [sys.executable, "-c", code, str(settings.data_dir), *words]
    with subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline()
        yield process
        process.kill()


def test_claim_is_seen_while_it_is_held(settings: Settings) -> None:
    assert not is_store_claimed(settings)
    with claimed_store(settings):
        assert is_store_claimed(settings)
        assert settings.claim_path.read_text() == str(os.getpid())
        assert settings.claim_path.stat().st_mode & 0o077 == 0
    assert not is_store_claimed(settings)


def test_second_claim_is_refused_naming_the_first(settings: Settings) -> None:
    with (
        process_of(CLAIM, settings) as first,
        pytest.raises(StoreInUseError, match=rf"^Another Pitwall \(pid {first.pid}\) uses this store"),
        claimed_store(settings),
    ):
        pass


def test_killed_process_holds_no_claim(settings: Settings) -> None:
    with process_of(CLAIM, settings) as first:
        assert is_store_claimed(settings)
        first.send_signal(signal.SIGKILL)
        first.wait()
        assert not is_store_claimed(settings)


def test_unusable_place_of_the_claim_is_a_sentence(settings: Settings) -> None:
    settings.data_dir.mkdir()
    settings.claim_path.symlink_to(settings.data_dir / "elsewhere")
    with pytest.raises(StoreError, match="cannot be opened"), claimed_store(settings):
        pass
    assert not is_store_claimed(settings)


def test_store_is_opened_when_the_command_has_handed_it_over(settings: Settings) -> None:
    sentences: list[str] = []
    with process_of(OWN, settings, "1", "/somewhere/pitwall", "import", "a.log") as owner:

        def tell(sentence: str) -> None:
            sentences.append(sentence)
            assert owner.stdin
            owner.stdin.write("x")
            owner.stdin.flush()

        open_handed_over(settings, tell).close()
    [sentence] = sentences
    assert sentence.startswith(
        "Pitwall waits up to 60 s for a command to hand the store over. The command ./pitwall import"
    )
    assert f"(pid {owner.pid})" in sentence


def test_command_that_keeps_the_store_is_named_after_a_while(settings: Settings) -> None:
    """Such as one that Ctrl-Z has stopped."""
    with (
        process_of(OWN, settings, "1", "/somewhere/pitwall", "study", "run", "tries/f.toml", "--json"),
        pytest.raises(
            StoreInCommandError, match=r"^The command \./pitwall study run f\.toml \(pid \d+\) uses .*Ctrl-C"
        ),
    ):
        open_handed_over(settings, lambda sentence: None, timeout_s=0.3)


def test_other_program_is_not_waited_for(settings: Settings) -> None:
    Store.open(settings).close()
    with process_of(OWN, settings, "1"), pytest.raises(StoreInUseError, match=r"^Another Pitwall"):
        open_handed_over(settings, pytest.fail)


def test_ending_process_is_waited_for_and_is_no_pitwall(settings: Settings) -> None:
    """A killed command keeps its locks for a moment on a busy machine, while the kernel shows no command line of it."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody has taken its status
    refusal = in_use_error(process.pid, settings.data_dir)
    assert isinstance(refusal, StoreInCommandError) and "is ending" in str(refusal)
    process.wait()
