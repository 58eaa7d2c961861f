"""Runs the load 'agent-task' of a job, in the process that `./pitwall load` is."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workloads.job import LoadJob

SETTLE_S = 0.2  # for processes that end by themselves after the agent


def run_agent_task(job: LoadJob, api_key: str | None) -> int:
    """Run the task and return the exit status; raises pydantic's ValidationError on wrong parameters, OSError."""
    import asyncio

    from launcher.processes.shim import become_subreaper
    from workloads.agent_tasks.task_params import AgentTaskParams
    from workloads.agent_tasks.task_runner import TaskRunner
    from workloads.process.start import first_model

    params = AgentTaskParams.model_validate(job.params)
    for order in (signal.SIGUSR1, signal.SIGUSR2):  # pause and resume, which an agent cannot do
        signal.signal(order, lambda *_: None)
    become_subreaper()  # so that a daemon that an agent starts stays a descendant of this process

    async def run() -> int:
        model = job.model or await first_model(job.base_url, api_key)

        def say(sentence: str) -> None:
            print(sentence, flush=True)

        return await TaskRunner(job, params, model, api_key, end_all_descendants, say).run()

    return asyncio.run(run())


def end_all_descendants() -> int:
    """End everything that this process started, SIGTERM first; return how many had to be signalled."""
    import psutil

    from launcher.processes.descendants import descendants
    from launcher.processes.end_processes import end_processes

    return len(end_processes(lambda: descendants(psutil.Process()), SETTLE_S))
