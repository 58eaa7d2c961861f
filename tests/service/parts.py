"""Parts that a whole Pitwall opens and closes: the real parts, and a list of what was done to them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from collectors.imports.inbox import Inbox
from collectors.loop import CollectorLoop
from launcher.runs.supervisor import Supervisor
from service.lake_shipping import LakeShipping
from service.notifications.notifier import Notifier
from service.run_lines import RunLineKeeper
from storage.database import Database
from storage.files.publish import Publisher
from storage.files.seal import Sealer
from storage.writer import Writer
from studies.runner import StudyRunner


class Part(NamedTuple):
    """A class, and its methods that open and close one."""

    of: type[Any]
    opens: str = "start"
    closes: str = "close"

    @property
    def name(self) -> str:
        return self.of.__name__


CORE = (
    Part(Database, opens="__init__"),
    Part(Publisher),
    Part(Writer),
    Part(Sealer),
    Part(CollectorLoop, closes="stop"),
    Part(Supervisor),
    Part(Inbox),
    Part(RunLineKeeper),
    Part(StudyRunner),
    Part(LakeShipping),
    Part(Notifier),
)
Patch = Callable[[Any, str, Any], None]


class Recorded:
    """The names of the parts that were opened, and of those that were closed, in their order."""

    def __init__(self, parts: tuple[Part, ...], patch: Patch = setattr) -> None:
        self.opened: list[str] = []
        self.closed: list[str] = []
        for part in parts:
            patch(part.of, part.opens, _noting(getattr(part.of, part.opens), self.opened, part.name))
            patch(part.of, part.closes, _noting(getattr(part.of, part.closes), self.closed, part.name))

    def closed_of_opened(self) -> list[str]:
        """Without what was made and closed, but never at work."""
        return [name for name in self.closed if name in self.opened]


def _noting(method: Callable[..., Any], told: list[str], name: str) -> Callable[..., Any]:
    """The same method; what it has done is noted, not what it broke off."""
    if inspect.iscoroutinefunction(method):

        @functools.wraps(method)
        async def later(*args: Any, **kwargs: Any) -> Any:
            done = await method(*args, **kwargs)
            told.append(name)
            return done

        return later

    @functools.wraps(method)
    def noted(*args: Any, **kwargs: Any) -> Any:
        done = method(*args, **kwargs)
        told.append(name)
        return done

    return noted
