"""Deep YAML is refused: the loader in C would end the process."""

from __future__ import annotations

import pytest

from commands.bounded_yaml import MAX_DEPTH, load_documents
from commands.explain import explain


def test_documents_have_texts_as_values() -> None:
    assert load_documents("a: 1\n---\n- true\n") == [{"a": "1"}, ["true"]]


@pytest.mark.parametrize("unit", ["{a: ", "[", "? ", "- "])
def test_deep_nesting_ends_no_process(unit: str) -> None:
    text = unit * 30_000
    with pytest.raises(ValueError, match=f"more than {MAX_DEPTH} levels"):
        load_documents(text)
    explain(text)
    explain(f"cat > f.yaml <<'E'\n{text}\nE\ntrtllm-serve m --extra_llm_api_options f.yaml")
