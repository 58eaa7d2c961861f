"""A recipe that has every kind of block, and the tools that it is read with."""

from __future__ import annotations

from commands.recipe.quality import QualityTools
from commands.recipe.recipe_study import study_of_recipe
from commands.study_file import StudyPlan

# Of the form of workloads/gemma_4_31b_it_h200.yaml and qwen3_5_mi355x.yaml of github.com/vllm-project/perf-eval.
RECIPE = """# a comment
name: tiny-h200
gpu: H200
num_gpus: 8
nightly: true
timeout_in_minutes: 90

vllm:
  model: org/tiny
  env:
    VLLM_ROCM_USE_AITER: 1
  serve_args: >-
    --tensor-parallel-size 2
    --kv-cache-dtype fp8

lm_eval:
  model_args:
    tokenized_requests: false
    tokenizer_backend: null
  tasks:
    - name: gsm8k
      num_fewshot: 5
      model_args:
        num_concurrent: 64
        max_length: 32768

bfcl:
  test_categories:
    - simple_python
    - multi_turn
  num_threads: 16

vllm_bench:
  configs:
    - name: 8k-in-1k-out
      backend: openai
      dataset: random
      input_len: 8192
      output_len: 1024
      num_prompts: 512
      max_concurrency: 128
      repetitions: 3
      args:
        num_warmups: 128
"""
TOOLS = QualityTools("/opt/lm_eval", "/opt/python")


def read(text: str = RECIPE, *without: str, tools: QualityTools = TOOLS) -> StudyPlan:
    return study_of_recipe(text, "tiny", tools, without)
