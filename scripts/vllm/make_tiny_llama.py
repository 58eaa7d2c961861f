"""Write a random Llama of about 4 million parameters and a tokenizer trained on the spot; runs where vLLM is."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SEED = 7
VOCABULARY = 1024
CONTEXT = 2048
BEGIN, END = "<s>", "</s>"
ASCII = [chr(code) for code in range(33, 127)] + ["\u0120", "\u010a"]  # with space and line feed as ByteLevel has them


def train_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    """Train byte-level pairs on these texts and all of ASCII, so that any tokens of the model are visible text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=[BEGIN, END], initial_alphabet=ASCII)
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=BEGIN, eos_token=END)


def make_model(vocabulary: int) -> LlamaForCausalLM:
    """Write the same random weights every time."""
    torch.manual_seed(SEED)
    shape = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=256,
        intermediate_size=704,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT,
        bos_token_id=0,
        eos_token_id=1,
    )
    return LlamaForCausalLM(shape).to(torch.bfloat16)


def main(directory: Path) -> None:
    from workloads.texts import prompts

    tokenizer = train_tokenizer([prompts.WARMUP, prompts.SINGLE, *prompts.FIVE.values(), *prompts.PARALLEL])
    tokenizer.save_pretrained(directory)
    make_model(len(tokenizer)).save_pretrained(directory)  # a token without a text would be one that nobody sees


if __name__ == "__main__":
    main(Path(sys.argv[1]))
