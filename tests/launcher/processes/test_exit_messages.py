"""The line of a log that explains an end: not the advice after it, nor a parent's report on its child."""

from __future__ import annotations

import pytest

from launcher.processes.exit_messages import explaining_line

NO_DAEMON = "docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
NO_GPU = 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]]'
CHILD = "subprocess.CalledProcessError: Command '['vllm', 'serve']' returned non-zero exit status 2."
WEAK_REFERENCE = "sys:1: ResourceWarning: unclosed socket"


@pytest.mark.parametrize(
    ("tail", "line"),
    [
        ([NO_DAEMON, "", "Run 'docker run --help' for more information"], NO_DAEMON),
        ([NO_DAEMON + ".", "See 'docker run --help'."], NO_DAEMON + "."),
        (["Unable to find image 'x:1' locally", NO_GPU, "", "Run 'docker run --help' for more information"], NO_GPU),
        (["vllm: error: unrecognized arguments: --x", "Traceback (most recent call last):", CHILD],
         "vllm: error: unrecognized arguments: --x"),
        (["usage: serve [-h]", "Try 'serve --help' for help.", "", "Error: No such option: --x", "╰──────╯"],
         "Error: No such option: --x"),
        (["error: Failed to spawn: `vllm`", "  Caused by: No such file or directory (os error 2)"],
         "error: Failed to spawn: `vllm`"),
        (["ValueError: no such model", WEAK_REFERENCE], "ValueError: no such model"),
        (["pydantic: 1 validation error", "  Value error, unknown model",
          "    For further information visit https://errors.pydantic.dev/2"], "  Value error, unknown model"),
        (["failed to import a plugin", *map("step {}".format, range(9)), "it all went wrong"], "it all went wrong"),
        (["run.sh: line 3: vllm: command not found"], "run.sh: line 3: vllm: command not found"),
        ([CHILD], CHILD),
        (["", "----"], None),
    ],
)  # fmt: skip
def test_line_explains_the_end(tail: list[str], line: str | None) -> None:
    assert explaining_line(tail) == line
