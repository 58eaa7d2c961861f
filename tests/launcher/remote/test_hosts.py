"""The list of hosts: what may stand in it, and what a command over there is made of."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

import launcher.remote.ssh
from domain import Machine
from launcher.processes.runtimes import ContainerFacts, read_facts
from launcher.remote.hosts import Host, HostBook, HostError
from launcher.remote.orders import RemoteExit, RemoteProvenance, RemoteServer, RemoteStopReport
from launcher.remote.ssh import explain_refusal, ssh_argv
from launcher.remote.wire import GREETING, LINE_BYTES, MOST_REFUSAL_CHARS, NOISE_BYTES, Frames, WireError, encode_line
from machine.run_with_timeout import ProcessOutput


@pytest.mark.parametrize("target", ["box", "me@box", "a.b-c_d", "10.0.0.7", "me@fe80::1", "x" * 250])
def test_host_names_are_taken(target: str) -> None:
    assert ssh_argv(Host(label="a", target=target))[-2] == target


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        *(
            ("target", text, "is not a valid ssh host")
            for text in ("-oProxyCommand=touch /tmp/x", "", "a b", "a;b", "$(x)", "a\nb", "@a", "-x@a", "a/b", "me@-a")
        ),
        *(("folder", text, "cannot be used") for text in ("", "a'b", "a\nb", "$(x)", "`x`", "-a", "a;b", "~/x")),
        *(("address", text, "is not a machine's address") for text in ("", "a b", "-a", "http://a", "a/b")),
        *(("label", text, "is not a label") for text in ("", "a b", "-a", "x" * 41, "a/b")),
    ],
)
def test_what_is_none_is_refused_with_a_sentence(field: str, value: str, sentence: str) -> None:
    fields: dict[str, Any] = {"label": "a", "target": "box", field: value}
    with pytest.raises(HostError, match=sentence):
        Host(**fields)


def test_remote_command_is_fixed_and_quoted() -> None:
    argv = ssh_argv(Host(label="a", target="box", folder="my pit wall"))
    assert argv[-3:] == ["--", "box", "'my pit wall/pitwall' shim -"]
    assert {"BatchMode=yes", "StrictHostKeyChecking=yes"} <= set(argv) and argv[:2] == ["ssh", "-T"]


def test_the_book_keeps_hosts_privately(tmp_path: Path) -> None:
    book = HostBook(tmp_path / "hosts.json")
    assert book.all() == []
    book.add(Host(label="a", target="one"))
    book.add(Host(label="b", target="two"))
    book.add(Host(label="a", target="three"))
    assert [(element.label, element.target) for element in book.all()] == [("b", "two"), ("a", "three")]
    assert (tmp_path / "hosts.json").stat().st_mode & 0o077 == 0
    assert book.remove("b").target == "two" and [element.label for element in book.all()] == ["a"]
    with pytest.raises(HostError, match=r"There is no host b: `\./pitwall host add b USER@HOST` adds it"):
        book.remove("b")


@pytest.mark.parametrize(
    "text",
    ["{", '{"hosts": [{"label": "a"}]}', '{"hosts": [{"label": "a", "target": "-x"}]}'],
    ids=["cut", "few", "bad"],
)
def test_corrupt_host_book_is_not_overwritten(tmp_path: Path, text: str) -> None:
    (tmp_path / "hosts.json").write_text(text)
    assert HostBook(tmp_path / "hosts.json").all() == []
    with pytest.raises(HostError):
        HostBook(tmp_path / "hosts.json").add(Host(label="b", target="two"))
    assert (tmp_path / "hosts.json").read_text() == text


def test_pipe_as_host_book_is_not_awaited(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "hosts.json")
    assert HostBook(tmp_path / "hosts.json").all() == []
    with pytest.raises(HostError, match="not a list of hosts"):
        HostBook(tmp_path / "hosts.json").add(Host(label="b", target="two"))


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.", "ssh-keygen -R box"),
        ("No ED25519 host key is known for box and you have requested strict checking.\nHost key verification failed.",
         "connect once with `ssh me@box`"),
        ("me@box: Permission denied (publickey).", "`ssh-copy-id me@box`"),
        ("ssh: Could not resolve hostname box: Name or service not known", "cannot resolve the name box"),
        ("ssh: connect to host box port 22: Connection timed out", "cannot be reached"),
        ("ssh: connect to host box port 22: Connection refused", "refuses ssh"),
        ("bind [127.0.0.1]:20001: Address already in use\nCould not request local forwarding.", "launch again"),
        ("kex_exchange_identification: read: odd", "ssh did not reach a: kex_exchange_identification: read: odd"),
    ],
)  # fmt: skip
def test_what_ssh_says_is_told_with_the_way_round(said: str, sentence: str) -> None:
    assert sentence in explain_refusal(Host(label="a", target="me@box"), said)


def test_frames_parse_in_pieces_after_shell_noise() -> None:
    log = encode_line({"log": 5}) + b"a\n{}\n"
    content = b"Welcome!\r\n" + GREETING + encode_line({"begun": True}) + log + encode_line({"x": 1})
    for size in (1, 3, len(content)):
        frames, found = Frames(), []
        for at in range(0, len(content), size):
            found += frames.feed(content[at : at + size])
        assert [(one.fields, one.log) for one in found] == [({"begun": True}, b""), ({}, b"a\n{}\n"), ({"x": 1}, b"")]


@pytest.mark.parametrize(
    "sent",
    [
        b"x" * (NOISE_BYTES + 1),
        GREETING + b"x" * (LINE_BYTES + 1),
        GREETING + b"[]\n",
        GREETING + b"{\n",
        GREETING + b'{"log": 99999999}\n',
        GREETING + b'{"log": -1}\n',
        GREETING + b'{"log": "x"}\n',
        GREETING + b'{"log": true}\nx',
        GREETING + b'{"x": NaN}\n',
        GREETING + b'{"x": 9223372036854775808}\n',
        GREETING + b'{"x":' * 60 + b"1" + b"}" * 60 + b"\n",
        GREETING + b'{"x": [-1e999]}\n',
        GREETING + b'{"x": "\\ud800"}\n',
        GREETING + b"[" * 100_000 + b"\n",
    ],
)
def test_what_is_no_answer_ends_the_connection(sent: bytes) -> None:
    with pytest.raises(WireError):
        Frames().feed(sent)


def test_undecodable_name_is_transferred() -> None:
    """A process may be called by any bytes."""
    feed = Frames().feed(GREETING + encode_line({"name": os.fsdecode(b"a\xffb"), "x": "ü"}))
    assert [one.fields for one in feed] == [{"name": "a?b", "x": "ü"}]


MACHINE = Machine("m", "there", (), None, None, 4, None, (), None, None, None, datetime(2026, 11, 23, tzinfo=UTC))


CONTAINER = asdict(read_facts("podman", {"Id": "c0ffee", "State": {"ExitCode": 3}}, lambda _: None))


def container(**told: Any) -> dict[str, Any]:
    return {"actions": [], "leftovers": [], "container": CONTAINER | told}


def test_remote_container_is_reported_like_local() -> None:
    document = json.loads(json.dumps(container()))
    assert ContainerFacts(**RemoteStopReport.model_validate(document).container.model_dump()) == ContainerFacts(
        **CONTAINER
    )


def test_a_refusal_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    process_output = ProcessOutput(0, GREETING + encode_line({"refused": "no " * 100_000}), b"")
    monkeypatch.setattr(launcher.remote.ssh, "ask_bounded", lambda *given: process_output)
    with pytest.raises(HostError) as refused:
        launcher.remote.ssh.ask(Host(label="a", target="box"), {})
    assert len(str(refused.value)) == MOST_REFUSAL_CHARS


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (RemoteExit, {"exit_code": 2**31, "signal": None, "cause": None, "ended_at": None}),
        (RemoteExit, {"exit_code": 0, "signal": None, "cause": None, "ended_at": "2026-11-23T00:00:00"}),
        (RemoteServer, {"pid": 10**12, "started_at": None}),
        (RemoteServer, {"pid": 1, "started_at": "2026-11-23T00:00:00"}),
        (RemoteProvenance, {"machine": asdict(MACHINE), "provenance": {}}),
        (RemoteStopReport, container(exit_code=2**40)),
        (RemoteStopReport, container(exit_code="x")),
        (RemoteStopReport, container(name={"a": 1})),
        (RemoteStopReport, container(image="x" * 5_000)),
        (RemoteStopReport, container(more=1)),
        (RemoteProvenance, {"machine": asdict(replace(MACHINE, cores=2**31)), "provenance": {"host": {}}}),
    ],
)
def test_oversized_host_value_is_rejected(kind: type[BaseModel], told: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        kind.model_validate(told)
