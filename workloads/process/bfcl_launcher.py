"""Script for BFCL's Python: registers the model of --model as one of OpenAI's chat API, then runs `bfcl`.

The first argument is the maximum number of steps per turn, the second selects cases by category: 'all', or
'simple_python,multi_turn=240' (a group's number is divided among its categories). The rest is BFCL's own command.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ALL = "all"
CASES_FILE = "test_case_ids_to_generate.json"  # read by BFCL's --run-ids


def main() -> None:
    """Run BFCL's command line with the additional model."""
    prompts: Any = import_module("bfcl_eval.constants.default_prompts")
    prompts.MAXIMUM_STEP_LIMIT = int(sys.argv.pop(1))  # before the modules that read it are imported
    cases = sys.argv.pop(1)
    models = import_module("bfcl_eval.constants.model_config")
    handler = import_module("bfcl_eval.model_handler.api_inference.openai_completion").OpenAICompletionsHandler
    name = sys.argv[sys.argv.index("--model") + 1]
    models.MODEL_CONFIG_MAPPING[name] = models.ModelConfig(
        model_name=name, display_name=name, url="", org="", license="", model_handler=handler, input_price=None,
        output_price=None, is_fc_model=True, underscore_to_dot=True,
    )  # fmt: skip
    if cases != ALL and sys.argv[1] == "generate":
        selected_cases = first_cases(cases, import_module("bfcl_eval.utils"))
        (Path(os.environ["BFCL_PROJECT_ROOT"]) / CASES_FILE).write_text(json.dumps(selected_cases))
    import_module("bfcl_eval.__main__").cli()


def first_cases(case_spec: str, utils: Any) -> dict[str, list[str]]:
    """Return the ids of the first cases of each category in BFCL's order, including their prerequisites."""
    cases_by_category: dict[str, list[str]] = {}
    for name, _, max_cases in (entry.partition("=") for entry in case_spec.split(",")):
        categories = utils.parse_test_category_argument([name])
        for index, category in enumerate(categories):
            per_category, remainder = divmod(int(max_cases), len(categories)) if max_cases else (None, 0)
            count = None if per_category is None else per_category + (index < remainder)
            cases_by_category[category] = _first(sorted(utils.load_dataset_entry(category), key=utils.sort_key), count)
    return {category: ids for category, ids in cases_by_category.items() if ids}


def _first(entries: list[Any], count: int | None) -> list[str]:
    prerequisite_ids = {case_id for entry in entries for case_id in entry.get("depends_on", ())}
    cases = [entry for entry in entries if entry["id"] not in prerequisite_ids][:count]
    ids = [[*entry.get("depends_on", ()), entry["id"]] for entry in cases]
    return list(dict.fromkeys(case_id for case_ids in ids for case_id in case_ids))


if __name__ == "__main__":
    main()
