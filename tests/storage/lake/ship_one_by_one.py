"""Ships the published file's runs, one a commit, until killed: for the test that kills it."""

from __future__ import annotations

import sys

import storage.lake.ship as ship
from settings import load_settings
from storage.lake.config import required_config
from storage.lake.owner import owner_id
from storage.published_query import published_query

if __name__ == "__main__":
    ship.MAX_RUNS = 1
    ship.MAX_RECORDS = 1
    settings = load_settings()
    config = required_config(settings)
    with published_query(settings.published_path) as query, ship.opened_lake(config) as connection:
        shipper = ship.Shipper(config, owner_id(settings), query, settings.parquet_dir.absolute(), lambda text: text)
        sys.stdout.write("shipping\n")
        sys.stdout.flush()
        while (done := shipper.ship(connection)).parts or done.records or not done.is_held:
            pass
