"""The demo's model files: the same shape gives the same bytes, whole or not at all."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from demo.model import DEMO, TINY, make_model, model_files, shape_of
from demo.vocabulary import build_vocabulary

pytest.importorskip("gguf")
SHAPE = replace(TINY, layers=1, width=32, ff_width=32)


def test_equal_shapes_give_equal_bytes(tmp_path: Path) -> None:
    first, second = make_model(tmp_path / "a", SHAPE), make_model(tmp_path / "b", SHAPE)
    assert first.target.name == second.target.name
    assert first.target.read_bytes() == second.target.read_bytes()
    assert model_files(tmp_path, replace(SHAPE, seed=8)).target.name != first.target.name


def test_what_is_there_is_not_made_again(tmp_path: Path) -> None:
    files = make_model(tmp_path, SHAPE)
    made_at = files.target.stat().st_mtime_ns
    assert make_model(tmp_path, SHAPE).target.stat().st_mtime_ns == made_at


def test_concurrent_writers_leave_whole_files(tmp_path: Path) -> None:
    code = (
        f"from pathlib import Path; from demo.model import TINY, make_model; make_model(Path({str(tmp_path)!r}), TINY)"
    )
    makers = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [maker.wait(60) for maker in makers] == [0, 0]
    expected = make_model(tmp_path / "alone", TINY)
    for path in model_files(tmp_path, TINY):
        assert path.read_bytes() == (expected.target.parent / path.name).read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == sorted(p.name for p in expected)


def test_a_failed_write_leaves_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="No space"):
        make_model(tmp_path, SHAPE)
    assert list(tmp_path.iterdir()) == []


def test_a_file_name_tells_its_shape(tmp_path: Path) -> None:
    assert shape_of(model_files(tmp_path, DEMO).draft) is DEMO
    assert shape_of(model_files(tmp_path, TINY).target) is TINY
    assert shape_of(tmp_path / "gemma.gguf") is None


def test_every_word_is_a_token_its_merges_reach() -> None:
    vocabulary = build_vocabulary()
    pieces = set(vocabulary.tokens)
    assert len(pieces) == len(vocabulary.tokens)
    for merge in vocabulary.merges:
        left, right = merge.split(" ")
        assert {left, right, left + right} <= pieces
    assert all(vocabulary.tokens[token][0] in "Ġ.,Ċ" for token in vocabulary.written_ids)
