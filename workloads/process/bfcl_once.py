"""Runs in the Python that has bfcl-eval, not in ours: BFCL knows only listed models, and takes two commands to a score.

Arguments: base URL, model, results folder, categories with commas, threads, temperature, most steps of a turn.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main(words: list[str]) -> int:
    """Answers, then their scores; each command ends by SystemExit, as the tool's own program does."""
    base_url, model, results, categories, threads, temperature, most_steps = words
    Path(results).mkdir(parents=True, exist_ok=True)
    os.environ["BFCL_PROJECT_ROOT"] = results
    os.environ["OPENAI_BASE_URL"] = f"{base_url}/v1"
    os.environ.setdefault("OPENAI_API_KEY", os.environ.get("SERVER_API_KEY") or "none")
    from bfcl_eval.constants import default_prompts, model_config  # type: ignore[import-not-found]

    default_prompts.MAXIMUM_STEP_LIMIT = int(most_steps)  # before whoever reads it is imported
    from bfcl_eval.__main__ import cli  # type: ignore[import-not-found]
    from bfcl_eval.model_handler.api_inference import openai_completion  # type: ignore[import-not-found]

    model_config.MODEL_CONFIG_MAPPING[model] = model_config.ModelConfig(
        model_name=model, display_name=model, url="", org="", license="", input_price=None, output_price=None,
        model_handler=openai_completion.OpenAICompletionsHandler, is_fc_model=True, underscore_to_dot=True,
    )  # fmt: skip
    asked = ["--model", model, "--test-category", categories]
    ask = ["generate", *asked, "--num-threads", threads, "--temperature", temperature]
    return _call(cli, ask) or _call(cli, ["evaluate", *asked])


def _call(cli: object, words: list[str]) -> int:
    sys.argv = ["bfcl", *words]
    try:
        cli()  # type: ignore[operator]
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
