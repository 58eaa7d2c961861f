"""Opening the store's file: made or migrated, looked through for damage, its views renewed."""

from __future__ import annotations

from machine.private_files import private_folder
from settings import Settings
from storage.catalog import migrate, renew_views
from storage.database import Database, StoreError, StoreInUseError
from storage.files.damage import damaged, first_line, is_of_damage, look_for_damage
from storage.files.lost import note_lost_files
from storage.writer import WRITE_FAILURES


def open_database(settings: Settings) -> Database:
    """The database in the data folder, ready for a store.

    Raises StoreError when it is in use, newer, unreadable or cannot be written.
    """
    try:
        private_folder(settings.data_dir)
    except OSError as error:
        raise StoreError(f"The data folder {settings.data_dir} cannot be made: {error.strerror}.") from error
    database = _opened(settings)
    try:
        with database.cursor() as cursor:
            migrate(cursor)
            look_for_damage(cursor, settings)
        with database.transaction() as cursor:
            note_lost_files(cursor, settings.parquet_dir)
            renew_views(cursor, settings.parquet_dir)
    except WRITE_FAILURES as error:
        database.close()
        raise StoreError(f"The store {database.path} cannot be written: {str(error).splitlines()[0]}") from error
    except BaseException:
        database.close()
        raise
    return database


def _opened(settings: Settings) -> Database:
    """The store's file; raises DamagedStoreError where DuckDB cannot read it, StoreError where nobody may."""
    try:
        return Database(settings.store_path)
    except StoreInUseError:
        raise
    except StoreError as error:
        if is_of_damage(error.__cause__ or error):
            raise damaged(settings, first_line(error.__cause__ or error)) from error
        raise
