"""Secrets that a server prints reach neither the store nor a page."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from collectors.logs.failure_cause import failure_of
from collectors.logs.log_collector import log_reader
from collectors.logs.log_view import LogTailView
from domain import Config, Run

NOW = datetime(2026, 11, 20, 19, 0, tzinfo=UTC)
KEY, TOKEN, BEARER = "s3cr3t-value", "hf_" + "a1B2" * 8, "abcdef123456789"
LINES = f"""\
(APIServer pid=1) INFO 11-20 18:00:00 [utils.py:233] non-default args: {{'model': 'm', 'api_key': ['{KEY}'], 'port': 1}}
INFO 11-20 18:00:01 [x.py:1] argv: vllm serve m --api-key {KEY}
WARNING 11-20 18:00:02 [x.py:2] HF_TOKEN={TOKEN} is not a good idea
ERROR 11-20 18:00:03 [x.py:3] RuntimeError: refused with Authorization: Bearer {BEARER}
RuntimeError: refused with Authorization: Bearer {BEARER}
"""


def test_no_secret_of_a_log_is_stored_or_shown(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(LINES)
    run = Run(
        id="r", name="r", color=0, config=Config(engine="vllm"), machine_id="m", created_at=NOW, log_path=str(log)
    )
    reader = log_reader(run)
    events = [*reader.feed(LINES.encode(), run, NOW), *reader.close(run, NOW)]
    lines = LogTailView(log, "vllm").lines()
    assert len(lines) == 5 and events
    text = f"{events}{lines}{failure_of(run)}"
    assert "RuntimeError" in text
    for secret in (KEY, TOKEN, BEARER):
        assert secret not in text
