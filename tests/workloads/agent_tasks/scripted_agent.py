"""FAKE: an agent that follows a script instead of a model's answers.

It speaks /v1/messages or /v1/responses with the variables that real agents read, calls a real shell for its tool, and
then does as its argument says: solve, fail, sleep (past its limit), daemon (leaves a process that ignores SIGTERM and
has forked twice), daemon-sleep, tell (prints its keys), exit3 (solves nothing and ends with 3),
by-model (solves 1 of 5 repeats for a model named solves-2; for solves-9 all, but 4 of 5 in a second start).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

TURNS = 2
PROTOCOLS = {
    "messages": ("ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "/v1/messages"),
    "responses": ("OPENAI_BASE_URL", "OPENAI_API_KEY", "/responses"),
}


def ask(protocol: str, text: str, history: list[dict[str, Any]]) -> None:
    base, key, path = PROTOCOLS[protocol]
    messages = [*history, {"role": "user", "content": text}]
    body: dict[str, Any] = {"model": sys.argv[3] if len(sys.argv) > 3 else "m", "stream": False}
    body |= (
        {"messages": messages, "max_tokens": 8}
        if protocol == "messages"
        else {
            "input": messages,
            "max_output_tokens": 8,
        }
    )
    request = urllib.request.Request(
        os.environ[base] + path,
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ[key]}"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        answer.read()
    text = "I shall call the shell."
    reply: dict[str, Any] = {"role": "assistant", "content": text}
    if protocol == "responses":
        reply |= {"type": "message", "content": [{"type": "output_text", "text": text}]}
    history += [messages[-1], reply]


def leave_daemon() -> None:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            Path("daemon.pid").write_text(str(os.getpid()))
            time.sleep(600)
        os._exit(0)
    while not Path("daemon.pid").exists():
        time.sleep(0.01)


def solves(model: str) -> bool:
    """Whether the repeat is to be solved; starts take turns by a file beside the task's data."""
    repeat = int(Path.cwd().parent.name.removeprefix("agent-"))
    if model == "solves-2":
        return repeat == 1
    run_folder = Path.cwd().parents[2]
    earlier = [path for path in run_folder.parent.iterdir() if path.name < run_folder.name]
    return repeat > 1 or not any("solves-9" in (path / "spec.json").read_text() for path in earlier)


def main() -> None:
    act, protocol = sys.argv[1], sys.argv[2]
    prompt = Path("PROMPT.md").read_text()
    history: list[dict[str, Any]] = []
    for turn in range(TURNS):
        ask(protocol, f"{prompt} Turn {turn}.", history)
        listing = subprocess.run(["/bin/sh", "-c", "ls"], capture_output=True, text=True, check=True).stdout
        history.append({"role": "user", "content": f"The shell said: {listing}"})
    sys.stdout.write(f"the agent works, and says {prompt}\n")
    if act == "tell":
        names = sorted(name for name in os.environ if "SECRET" in name or name == "SERVER_API_KEY")
        sys.stdout.write(f"keys: {os.environ['OPENAI_API_KEY']} {names}\n")
    if act in ("daemon", "daemon-sleep"):
        leave_daemon()
    if act in ("sleep", "daemon-sleep"):
        time.sleep(600)
    sys.stdout.flush()
    if act == "exit3":
        sys.exit(3)
    if act == "by-model" and solves(sys.argv[3]):
        act = "solve"
    if act in ("solve", "daemon", "tell"):
        Path("answer.txt").write_text("42")


main()
