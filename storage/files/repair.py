"""`./pitwall check --repair`: rebuild a damaged store from its published copy, and report what is lost."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from settings import Settings
from storage.database import StoreError
from storage.files.damage import NO_COPY, DamagedStoreError, count_published
from storage.files.lost import LostFile
from storage.store import Store

SET_ASIDE = "set-aside"
SHARES_LOST = "Links that were shared are not in the copy: share again what others should see."


@dataclass(frozen=True, slots=True)
class Repair:
    """What was found and done; `set_aside` is where the damaged store lies, `was_damaged` why."""

    was_damaged: str | None
    set_aside: Path | None
    rows: int | None  # taken from the published copy
    lost: list[LostFile]

    def sentences(self) -> list[str]:
        """What was done and what is lost, each in a sentence for a person; one at least."""
        said = []
        if self.set_aside:
            said.append(f"{self.was_damaged} It lies in {self.set_aside} now.")
            said.append(f"The store was made anew from the published copy: {self.rows:,} rows. {SHARES_LOST}")
        said += [one.sentence() for one in self.lost]
        return said or ["Nothing is damaged."]


def repair(settings: Settings, now: datetime) -> Repair:
    """Mend what can be mended; nothing is deleted.

    Raises StoreError where there is no copy to mend it from, and for a whole store that cannot be opened: it is in use,
    a newer Pitwall's, or on a full disk.
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
    """The copy is whole on the disk before the damaged file goes; killed in between, the next try does the rest."""
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
