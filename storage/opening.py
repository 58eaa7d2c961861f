"""Opens the store's file: creates or migrates it, checks it for damage and updates its views."""

from __future__ import annotations

from machine.private_files import private_folder
from settings import Settings
from storage.catalog import migrate, renew_views
from storage.database import Database, StoreError, StoreInUseError
from storage.files.damage import damaged_error, first_line, is_damage, look_for_damage
from storage.files.lost_files import record_lost_files
from storage.writer import WRITE_FAILURES


def open_database(settings: Settings) -> Database:
    """Open the database of the data folder for a store.

    Raises StoreError if it is in use, newer than this version, unreadable or read-only.
    """
    try:
        private_folder(settings.data_dir)
    except OSError as error:
        raise StoreError(f"The data folder {settings.data_dir} cannot be created: {error.strerror}.") from error
    database = _open_file(settings)
    try:
        with database.cursor() as cursor:
            migrate(cursor)
            look_for_damage(cursor, settings)
        with database.transaction() as cursor:
            record_lost_files(cursor, settings.parquet_dir)
            renew_views(cursor, settings.parquet_dir)
    except WRITE_FAILURES as error:
        database.close()
        raise StoreError(f"The store {database.path} cannot be written: {str(error).splitlines()[0]}") from error
    except BaseException:
        database.close()
        raise
    return database


def _open_file(settings: Settings) -> Database:
    """Open the file; raises DamagedStoreError if its content is damaged, StoreError if it cannot be opened."""
    try:
        return Database(settings.store_path)
    except StoreInUseError:
        raise
    except StoreError as error:
        if is_damage(error.__cause__ or error):
            raise damaged_error(settings, first_line(error.__cause__ or error)) from error
        raise
