"""Writes a random GPT-2 with a tokenizer, for `make test-sglang`: SGLang's rotary embeddings need vLLM on a CPU."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from scripts.vllm.make_tiny_llama import train_tokenizer
from workloads.texts import prompts

CONTEXT_TOKENS = 16_384


def main(directory: Path) -> None:
    tokenizer = train_tokenizer([prompts.WARMUP, prompts.SINGLE, *prompts.FIVE.values(), *prompts.PARALLEL])
    tokenizer.save_pretrained(directory)
    torch.manual_seed(0)
    shape = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=CONTEXT_TOKENS,
        n_embd=128,
        n_layer=2,
        n_head=4,
        bos_token_id=0,
        eos_token_id=1,
    )
    GPT2LMHeadModel(shape).to(torch.bfloat16).save_pretrained(directory)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
