"""Vocabulary of the demo model: every byte, so that it reads any prompt, and a few words, so that it writes words."""

from __future__ import annotations

from typing import NamedTuple

WORD_TEXT = (
    "the a of to and in on at by for from with over under after before while until where when "
    "lap laps pit pits wall box tyre tyres soft medium hard slick wet dry track line apex kerb corner chicane straight "
    "sector gap lead leader chase pass brake brakes throttle gear shift clutch engine fuel load power torque heat "
    "grip slide drift turn exit entry start finish flag green yellow red blue safety car driver team crew radio call "
    "plan stop stops stint pace delta time second tenth clock speed wind rain sun cloud dust smoke spark light night "
    "morning engineer mechanic strategy window undercut overcut traffic train slipstream wing nose floor rear front "
    "left right inside outside early late fast slow quick steady clean dirty cold warm hot fresh worn new old long "
    "short first last next final is was are were be been has had will would can could may might holds held runs ran "
    "goes went comes came takes took gives gave keeps kept loses lost wins won finds found makes made sees saw says "
    "said waits waited opens closes climbs falls rises grows he she it they we you his her its their our this that "
    "these those not no yes but or if then than so as up down out off again still almost never always one two three "
    "four five six seven eight nine ten twenty thirty"
)
WORDS = WORD_TEXT.split()
PUNCTUATION = (".", ",", "Ċ")  # 'Ċ' is how byte-level vocabularies write a line feed
SPECIALS = ("<|start|>", "<|end|>", "<|turn|>")
CHAT_TEMPLATE = (
    "{% for m in messages %}<|turn|>{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>assistant:{% endif %}"
)


class Vocabulary(NamedTuple):
    """Tokens by id, BPE merges by rank, and the ids that the model may write."""

    tokens: list[str]
    merges: list[str]
    written_ids: list[int]


def byte_letters() -> list[str]:
    """Return the letter for each byte in a byte-level vocabulary (the mapping of GPT-2's tokenizer)."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in plain]
    letters = {byte: chr(byte) for byte in plain} | {byte: chr(256 + n) for n, byte in enumerate(hidden)}
    return [letters[byte] for byte in range(256)]


def build_vocabulary() -> Vocabulary:
    """Return bytes, the prefixes of each ' word', then the special tokens; each merge adds one letter to a prefix."""
    tokens = byte_letters()
    merges: dict[str, str] = {}
    for word in WORDS:
        marked_word = "Ġ" + word
        for end in range(2, len(marked_word) + 1):
            merges.setdefault(marked_word[:end], f"{marked_word[: end - 1]} {marked_word[end - 1]}")
    tokens += list(merges)
    written_ids = [tokens.index(text) for text in (*PUNCTUATION, *("Ġ" + word for word in WORDS))]
    return Vocabulary([*tokens, *SPECIALS], list(merges.values()), sorted(set(written_ids)))
