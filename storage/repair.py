"""`./pitwall check --repair`: rebuilds a damaged store from its published copy and reports losses."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from settings import Settings
from storage.database import StoreError
from storage.files.damage import NO_COPY, DamagedStoreError, count_published
from storage.files.lost_files import LostFile
from storage.store import Store

SET_ASIDE = "set-aside"
SHARES_LOST = "The copy has no share links: share them again."


@dataclass(frozen=True, slots=True)
class Repair:
    """The result of a repair; `set_aside` is the new path of the damaged store, `was_damaged` the damage."""

    was_damaged: str | None
    set_aside: Path | None
    rows: int | None  # from the published copy
    lost_files: list[LostFile]

    def sentences(self) -> list[str]:
        """Return at least one sentence about what was done and what is lost."""
        lines = []
        if self.set_aside:
            lines.append(f"{self.was_damaged} It was moved to {self.set_aside}.")
            lines.append(f"The store was rebuilt from the published copy: {self.rows:,} rows. {SHARES_LOST}")
        lines += [lost_file.sentence() for lost_file in self.lost_files]
        return lines or ["Nothing is damaged."]


def repair_store(settings: Settings, now: datetime) -> Repair:
    """Repair what can be repaired; nothing is deleted.

    Raises StoreError if there is no published copy, or if an intact store cannot be opened: it is in use, from a newer
    Pitwall, or on a full disk.
    """
    try:
        return Repair(None, None, None, _look_at_sealed(settings))
    except DamagedStoreError as error:
        damage = str(error).split(" `./pitwall check")[0]
    rows = count_published(settings.published_path)
    if rows is None:
        raise StoreError(f"{damage} {NO_COPY}")
    aside = settings.data_dir / SET_ASIDE / f"{now:%Y%m%dT%H%M%S}"
    _replace_store(settings, aside)
    return Repair(damage, aside, rows, _look_at_sealed(settings))


def _replace_store(settings: Settings, aside: Path) -> None:
    """Complete the copy on disk before moving the damaged file; after a kill in between, the next try finishes."""
    draft = settings.store_path.with_suffix(".draft")
    shutil.copyfile(settings.published_path, draft)
    aside.mkdir(parents=True, exist_ok=True)
    for path in (settings.store_path, settings.store_path.with_name(f"{settings.store_path.name}.wal")):
        if path.exists():
            path.replace(aside / path.name)
    draft.replace(settings.store_path)


def _look_at_sealed(settings: Settings) -> list[LostFile]:
    store = Store.open(settings)
    try:
        return store.look_for_lost_files(deeply=True)
    finally:
        store.close()
