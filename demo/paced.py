"""Simulated engine with a known decode speed: `python -m demo paced --port N --step-ms 10`. It runs no model.

It answers OpenAI's streaming API with one token every so many milliseconds and counts them under vLLM's counter names,
so that a comparison of servers can be checked against the true speeds. `--noise` is the variation between starts.
With `--drafts` each step after the first token drafts that many tokens, each accepted at random with the same
probability, and each draft token makes the step longer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

MODEL = "stand-in"
WORDS = (
    "the", "car", "takes", "the", "long", "straight", "and", "brakes", "late", "before", "the", "slow", "corner",
    "while", "rain", "begins", "to", "fall",
)  # fmt: skip
MOST_HEAD_BYTES = 64 << 10
COUNTERS = {
    "vllm:generation_tokens_total": "tokens",
    "vllm:time_to_first_token_seconds_count": "first_tokens",
    "vllm:inter_token_latency_seconds_count": "later_tokens",
    "vllm:prompt_tokens_total": "prompt_tokens",
}


@dataclass
class PacedServer:
    """State of the server: its pace and its counters."""

    step_s: float
    first_s: float
    drafted: int = 0  # tokens per step
    acceptance_rate: float = 0.0  # of a draft token if all before it were accepted
    tokens: int = 0
    first_tokens: int = 0
    later_tokens: int = 0
    prompt_tokens: int = 0
    running: int = 0
    drafts: int = 0
    accepted_per_position: list[int] = field(default_factory=list)  # accepted draft tokens by position
    chance: random.Random = field(default_factory=lambda: random.Random(1))  # the same at every start

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request on one connection."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode(errors="replace")
            size = next(
                (int(line[15:]) for line in head.lower().split("\r\n") if line.startswith("content-length:")), 0
            )
            body = json.loads(await reader.readexactly(size)) if size else {}
            method, path, *_ = head.split()
            if method == "POST":
                await self._stream(writer, body, is_chat="chat" in path)
            else:
                self._respond(writer, path)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            return
        finally:
            writer.close()

    def _respond(self, writer: asyncio.StreamWriter, path: str) -> None:
        bodies = {"/health": "", "/v1/models": json.dumps({"data": [{"id": MODEL}]}), "/metrics": self._metrics()}
        text = bodies.get(path.partition("?")[0])
        status = "200 OK" if text is not None else "404 Not Found"
        data = (text or "").encode()
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n".encode() + data)

    def _metrics(self) -> str:
        labels = f'{{engine="0",model_name="{MODEL}"}}'
        lines = [f"{name}{labels} {getattr(self, field)}" for name, field in COUNTERS.items()]
        lines += [f"vllm:num_requests_running{labels} {self.running}", *self._draft_metrics(labels)]
        return "\n".join([*lines, ""])

    def _draft_metrics(self, labels: str) -> list[str]:
        """Return the speculation counters; empty without drafts."""
        if not self.drafted:
            return []
        name = "vllm:spec_decode_num"
        counts = {"drafts": self.drafts, "draft_tokens": self.drafts * self.drafted}
        counts["accepted_tokens"] = sum(self.accepted_per_position)
        counters = [f"{name}_{kind}_total{labels} {count}" for kind, count in counts.items()]
        places = enumerate(self.accepted_per_position or [0] * self.drafted)
        line_format = f'{name}_accepted_tokens_per_pos_total{labels[:-1]},position="%d"}} %d'
        return [*counters, *(line_format % position for position in places)]

    async def _stream(self, writer: asyncio.StreamWriter, body: dict[str, object], is_chat: bool) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        max_tokens = int(str(body.get("max_tokens") or 16))
        prompt_tokens = len(json.dumps(body.get("messages") or body.get("prompt") or "")) // 4
        self.prompt_tokens += prompt_tokens
        self.running += 1
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        try:
            generated = step = 0
            while generated < max_tokens:
                due_s = began_s + self.first_s + step * self.step_s
                await asyncio.sleep(max(0.0, due_s - loop.time()))
                step_tokens = self._step(is_first=generated == 0, limit=max_tokens - generated)
                words = "".join(
                    WORDS[(n * 7 + n // 9) % len(WORDS)] + " "
                    for n in range(generated + 1, generated + step_tokens + 1)
                )
                generated, step = generated + step_tokens, step + 1
                piece = {"delta": {"content": words}} if is_chat else {"text": words}
                reason = "length" if generated == max_tokens else None
                usage = {"prompt_tokens": prompt_tokens, "completion_tokens": generated}
                event = {"choices": [{**piece, "finish_reason": reason}], "usage": usage}
                writer.write(b"data: " + json.dumps(event).encode() + b"\n\n")
                await writer.drain()
            writer.write(b"data: [DONE]\n\n")
        finally:
            self.running -= 1

    def _step(self, is_first: bool, limit: int) -> int:
        """Count one step of a request and return its number of tokens."""
        accepted = 0 if is_first else self._verify()
        step_tokens = min(limit, accepted + 1)
        self.tokens += step_tokens
        self.first_tokens += is_first
        self.later_tokens += not is_first
        return step_tokens

    def _verify(self) -> int:
        """Return how many tokens of a draft are accepted."""
        if not self.drafted:
            return 0
        self.accepted_per_position = self.accepted_per_position or [0] * self.drafted
        self.drafts += 1
        accepted = 0
        while accepted < self.drafted and self.chance.random() < self.acceptance_rate:
            self.accepted_per_position[accepted] += 1
            accepted += 1
        return accepted


async def serve(host: str, port: int, paced: PacedServer) -> None:
    """Listen, print the pace, and answer until cancelled; raises OSError if it cannot listen."""
    server = await asyncio.start_server(paced.answer, host, port, limit=MOST_HEAD_BYTES)
    sys.stdout.write(f"stand-in of known truth: a token every {paced.step_s * 1000:.3f} ms\n")
    sys.stdout.flush()
    async with server:
        await server.serve_forever()


def main(argv: Sequence[str]) -> int:
    """Serve with these flags; the exit status is 130 after Ctrl-C and 1 if it cannot listen."""
    parser = argparse.ArgumentParser(prog="python -m demo paced", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--step-ms", type=float, default=10.0, help="time between two tokens of a stream")
    parser.add_argument("--first-ms", type=float, default=20.0, help="time before the first token")
    parser.add_argument("--noise", type=float, default=0.0, help="relative sd of the pace between starts")
    parser.add_argument("--drafts", type=int, default=0, help="draft tokens per step")
    parser.add_argument(
        "--accept",
        type=float,
        default=0.8,
        help="acceptance probability of a draft token if all before it were accepted",
    )
    parser.add_argument("--draft-ms", type=float, default=0.0, help="extra time per draft token in a step")
    flags = parser.parse_args(argv)
    longer_ms = flags.step_ms + flags.drafts * flags.draft_ms
    step_s = longer_ms / 1000 * max(0.1, random.gauss(1.0, flags.noise))
    try:
        asyncio.run(
            serve(flags.host, flags.port, PacedServer(step_s, flags.first_ms / 1000, flags.drafts, flags.accept))
        )
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        sys.stderr.write(f"The stand-in cannot listen: {error.strerror}.\n")
        return 1
    return 0
