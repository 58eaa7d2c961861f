"""Texts of replayed prompts, of exactly the recorded lengths where the server's own tokenizer can count words."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import aiohttp

from analysis.sessions.prompt_part import PREFIX
from domain import JsonValue
from engines import BY_NAME
from load_records import LENGTH_REASON
from reasons import Code, Reason, write_reasons
from workloads.natural_text import all_words
from workloads.plan import Phase, PlannedRequest
from workloads.requests.client import RequestTarget
from workloads.texts.fitting import MAX_REASON_CHARS
from workloads.texts.replayed_prompt import PromptSegment
from workloads.texts.shaped_words import LETTERS, WordCounts, estimated_counts, first_words
from workloads.texts.tokenizer_client import NoTokenizerError, TokenizerClient

BASE = "and the crew"  # a word is counted behind it
AT_ONCE = 8  # requests to the tokenizer
FILLER_LENGTHS = (1, 2, 3, 7, 12)  # repetitions with which a filler is tried
SAMPLE_TOKENS = 60
TEXT_BYTES = 256 << 20  # held at a time; an evicted text is generated again


@dataclass
class ReplayTexts:
    """Composes the prompts of a replay when they are sent, since all texts together may not fit into memory."""

    session: aiohttp.ClientSession
    target: RequestTarget
    _words: WordCounts | None = None
    _overhead: int = 0  # tokens that the server puts before every prompt
    _length_reason: str | None = None  # why lengths are approximate
    _texts: OrderedDict[tuple[str, int], str] = field(default_factory=OrderedDict)
    _text_bytes: int = 0
    _answers: dict[int, str] = field(default_factory=dict)  # the server's, by request
    _answer_texts: dict[tuple[str, int], str] = field(default_factory=dict)  # as parts of prompts

    async def prepare(self, phase: Phase) -> None:
        """Count the words once, before the first phase that needs them; forget the answers of the phase before."""
        self._answers.clear()
        self._answer_texts.clear()
        if self._words is not None or not any(request.replayed for request in phase.requests):
            return
        engine = BY_NAME.get(self.target.engine)
        try:
            if engine is None or engine.tokenizer is None:
                raise NoTokenizerError("this engine has no known tokenizer API")
            client = TokenizerClient(self.session, self.target, engine.tokenizer)
            self._words = await _count_words(client)
            self._overhead = await _overhead_of(client, self._words)
        except NoTokenizerError as error:
            self._words = estimated_counts()
            reason = Reason(Code.LENGTH_APPROXIMATE, values={"said": str(error)[:MAX_REASON_CHARS]})
            self._length_reason = write_reasons([reason])

    async def compose(self, request: PlannedRequest, salt: str, names: Mapping[int, str]) -> PlannedRequest:
        """Return the request with its text, and with the names of the requests that it follows.

        salt: seed of the first segment, so that no cache of an earlier load or replay has the prompt; '' for none.
        names: of the phase's requests, by index.
        """
        assert request.replayed and self._words
        texts: list[str] = []
        for place, segment in enumerate(request.replayed.segments):
            texts.append(await self._text_of(segment, salt if place == 0 else "", is_first=place == 0))
        sizes = {s.digest: len(text.encode()) for s, text in zip(request.replayed.segments, texts, strict=True)}
        facts = dict(request.facts) | {PREFIX: _named_prefix(request.facts[PREFIX], names, sizes)}
        if self._length_reason:
            facts[LENGTH_REASON] = self._length_reason
        sent_prompt = replace(request.replayed, segments=())  # another process that sends it needs no more
        return replace(request, fitted_text="".join(texts), replayed=sent_prompt, facts=facts)

    def note_answer(self, request: PlannedRequest, text: str) -> None:
        """Remember the server's answer for the prompts that continue it."""
        if request.replayed and request.replayed.is_answer_needed:
            self._answers[request.replayed.index] = text

    async def _text_of(self, segment: PromptSegment, salt: str, is_first: bool) -> str:
        """Return the text of a segment; the first one of a prompt leaves room for the tokens before it."""
        assert self._words
        if segment.answers in self._answers:
            return await self._answer_text(segment, self._answers[segment.answers])
        key = (f"{salt} {segment.seed}" if salt else segment.seed, segment.tokens - (self._overhead if is_first else 0))
        if key not in self._texts:
            text = self._words.text_of(key[0], max(1, key[1]))
            self._texts[key] = text
            self._text_bytes += len(text)
            while self._text_bytes > TEXT_BYTES and len(self._texts) > 1:
                self._text_bytes -= len(self._texts.popitem(last=False)[1])
        self._texts.move_to_end(key)
        return self._texts[key]

    async def _answer_text(self, segment: PromptSegment, answer: str) -> str:
        """Return the server's answer, filled up to the segment's tokens if it is shorter, as its tokenizer counts."""
        key = (segment.seed, segment.tokens)
        if key not in self._answer_texts:
            assert self._words
            missing = segment.tokens - await self._answer_tokens(answer)
            filling = self._words.text_of(segment.seed, missing) if missing > 0 else ""
            self._answer_texts[key] = answer + filling
        return self._answer_texts[key]

    async def _answer_tokens(self, answer: str) -> int:
        """Return the tokens of an answer behind other text; by its length if the tokenizer cannot be used."""
        engine = BY_NAME.get(self.target.engine)
        if self._length_reason or engine is None or engine.tokenizer is None:
            return round(len(answer) / 4)
        client = TokenizerClient(self.session, self.target, engine.tokenizer)
        try:
            return len(await client.token_ids(BASE + answer)) - len(await client.token_ids(BASE))
        except NoTokenizerError:
            return round(len(answer) / 4)


def _named_prefix(
    prefix: Mapping[str, JsonValue], names: Mapping[int, str], sizes: Mapping[str, int]
) -> dict[str, JsonValue]:
    """Return what is stored of a prompt with the names of requests for their indexes, and the sizes of its parts."""
    follows = prefix["follows"]
    parts = {digest: part | {"bytes": sizes[digest]} for digest, part in prefix["parts"].items()}
    return dict(prefix) | {
        "session": names[prefix["session"]],
        "follows": None if follows is None else names[follows],
        "parts": parts,
    }


async def _count_words(client: TokenizerClient) -> WordCounts:
    """Return the tokens of every word of the sentences, and strings of one token to fill up with."""
    base = len(await client.token_ids(BASE))
    words = sorted(all_words())
    counts: dict[str, float] = {}
    for start in range(0, len(words), AT_ONCE):
        batch = words[start : start + AT_ONCE]
        lengths = await asyncio.gather(*(client.token_ids(f"{BASE} {word}") for word in batch))
        counts |= {word: max(1, len(ids) - base) for word, ids in zip(batch, lengths, strict=True)}
    single = [f" {word}" for word in first_words() if counts[word] == 1]
    return WordCounts(counts, single or await _single_letters(client, base))


async def _single_letters(client: TokenizerClient, base: int) -> Sequence[str]:
    """Return the first letter that is one token each however often it is repeated; none if there is no such letter."""
    for letter in LETTERS:
        lengths = [len(await client.token_ids(BASE + letter * count)) - base for count in FILLER_LENGTHS]
        if lengths == list(FILLER_LENGTHS):
            return (letter,)
    return ()


async def _overhead_of(client: TokenizerClient, words: WordCounts) -> int:
    """Return the tokens by which a prompt is longer than its words: special ones, or that of its leading space."""
    return len(await client.token_ids(words.text_of("overhead", SAMPLE_TOKENS), add_special=True)) - SAMPLE_TOKENS
