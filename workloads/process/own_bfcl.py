"""Run by BFCL's Python: makes the model that --model names known to it as one of OpenAI's chat API, then is `bfcl`.

The first argument is the most steps of a turn, the second which cases of which category: 'all', or
'simple_python,multi_turn=240' (of a group as many of each of its categories). The rest is BFCL's own command.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ALL = "all"
CASES_FILE = "test_case_ids_to_generate.json"  # which BFCL's --run-ids reads


def main() -> None:
    """BFCL's own command line, with one more model."""
    prompts: Any = import_module("bfcl_eval.constants.default_prompts")
    prompts.MAXIMUM_STEP_LIMIT = int(sys.argv.pop(1))  # before whoever reads it is imported
    cases = sys.argv.pop(1)
    models = import_module("bfcl_eval.constants.model_config")
    handler = import_module("bfcl_eval.model_handler.api_inference.openai_completion").OpenAICompletionsHandler
    name = sys.argv[sys.argv.index("--model") + 1]
    models.MODEL_CONFIG_MAPPING[name] = models.ModelConfig(
        model_name=name, display_name=name, url="", org="", license="", model_handler=handler, input_price=None,
        output_price=None, is_fc_model=True, underscore_to_dot=True,
    )  # fmt: skip
    if cases != ALL and sys.argv[1] == "generate":
        chosen = first_cases(cases, import_module("bfcl_eval.utils"))
        (Path(os.environ["BFCL_PROJECT_ROOT"]) / CASES_FILE).write_text(json.dumps(chosen))
    import_module("bfcl_eval.__main__").cli()


def first_cases(wanted: str, utils: Any) -> dict[str, list[str]]:
    """The ids of the first cases of each category, by BFCL's own order; with those that they build upon."""
    found: dict[str, list[str]] = {}
    for name, _, most in (part.partition("=") for part in wanted.split(",")):
        categories = utils.parse_test_category_argument([name])
        for place, category in enumerate(categories):
            each, rest = divmod(int(most), len(categories)) if most else (None, 0)
            count = None if each is None else each + (place < rest)
            found[category] = _first(sorted(utils.load_dataset_entry(category), key=utils.sort_key), count)
    return {category: ids for category, ids in found.items() if ids}


def _first(entries: list[Any], count: int | None) -> list[str]:
    before = {needed for entry in entries for needed in entry.get("depends_on", ())}
    cases = [entry for entry in entries if entry["id"] not in before][:count]
    ids = [[*entry.get("depends_on", ()), entry["id"]] for entry in cases]
    return list(dict.fromkeys(one for several in ids for one in several))


if __name__ == "__main__":
    main()
