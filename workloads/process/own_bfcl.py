"""Run by BFCL's Python: makes the model that --model names known to it as one of OpenAI's chat API, then is `bfcl`.

The first argument is the most steps of a turn; the rest is BFCL's own command.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


def main() -> None:
    """BFCL's own command line, with one more model."""
    prompts: Any = import_module("bfcl_eval.constants.default_prompts")
    prompts.MAXIMUM_STEP_LIMIT = int(sys.argv.pop(1))  # before whoever reads it is imported
    models = import_module("bfcl_eval.constants.model_config")
    handler = import_module("bfcl_eval.model_handler.api_inference.openai_completion").OpenAICompletionsHandler
    name = sys.argv[sys.argv.index("--model") + 1]
    models.MODEL_CONFIG_MAPPING[name] = models.ModelConfig(
        model_name=name, display_name=name, url="", org="", license="", model_handler=handler, input_price=None,
        output_price=None, is_fc_model=True, underscore_to_dot=True,
    )  # fmt: skip
    import_module("bfcl_eval.__main__").cli()


if __name__ == "__main__":
    main()
