"""Pauses of a load: a cancelled one does not wait for their end."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from domain import utc_now
from workloads.job import LoadJob
from workloads.process.pace import Pace


def test_cancelled_load_does_not_wait_out_a_pause(tmp_path: Path) -> None:
    job = LoadJob(run_id="r", base_url="http://127.0.0.1:1", workload="ladder", out=tmp_path / "out",
                  progress=tmp_path / "progress")  # fmt: skip
    pace = Pace(job, [], time.monotonic, utc_now)

    async def wait() -> None:
        waiting = asyncio.create_task(pace.wait(60.0))
        await asyncio.sleep(0)
        pace.cancel()
        await asyncio.wait_for(waiting, 5.0)

    asyncio.run(wait())
