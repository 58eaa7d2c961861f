"""Pitwalls that share a lake, with runs of known rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from domain import Config, Run, RunState, WorkloadSpec
from load_records import RequestRecord
from samples import Batch, CounterSample, Event, GpuSample, Sample
from settings import Settings
from storage.lake.config import LakeConfig
from storage.lake.connection import opened_lake
from storage.lake.owner import owner_id
from storage.lake.ship import Shipper, ShipResult, ship_all
from storage.lake.upkeep import check_lake
from storage.rows import TIME_COLUMNS
from storage.store import Store

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
SECONDS = 30


def lake_toml(config: LakeConfig) -> str:
    """What a person would write into lake.toml."""
    assert config.s3
    tls = f'ca_file = "{config.s3.ca_file}"\n' if config.s3.use_ssl else "use_ssl = false\n"
    return (
        f'catalogue = "{config.catalogue}"\ndata_path = "{config.data_path}"\n[s3]\nendpoint = "{config.s3.endpoint}"\n'
        f'key_id = "{config.s3.key_id}"\nsecret = "{config.s3.secret}"\n{tls}'
    )


@dataclass(frozen=True)
class Box:
    """One data folder and its store."""

    name: str
    settings: Settings
    store: Store
    config: LakeConfig

    def add_run(self, run_id: str, speed: float = 50.0, seconds: int = SECONDS) -> Run:
        """A run that has ended, with samples of several tables; not sealed yet."""
        run = Run(
            id=run_id, name=run_id, color=0, machine_id=f"machine-of-{self.name}", created_at=NOW, started_at=NOW,
            ready_at=NOW, ended_at=NOW + timedelta(seconds=seconds), state=RunState.FINISHED, run_dir=f"/runs/{run_id}",
            config=Config(engine="vllm", model="org/m", argv=("vllm", "serve", "org/m", f"--seed={speed:g}")),
            workload=WorkloadSpec(name="five-prompts", prompt_set_hash="h"), stop_when_done=True,
        )  # fmt: skip
        self.store.save_run(run)
        self.store.write(Batch(tuple(samples(run_id, speed, seconds)))).result()
        return run

    def add_runs(self, prefix: str, count: int, seconds: int = SECONDS) -> list[str]:
        ids = [f"{prefix}{number:03}" for number in range(count)]
        for number, run_id in enumerate(ids):
            self.add_run(run_id, 50.0 + number, seconds)
        self.seal()
        return ids

    def seal(self) -> None:
        while self.store.seal():
            pass
        self.store.publish()

    def shipper(self, owner: str | None = None) -> Shipper:
        folder = self.settings.parquet_dir.absolute()
        return Shipper(self.config, owner or owner_id(self.settings), self.store.query, folder, lambda text: text)

    def ship(self) -> ShipResult:
        return ship_all(self.shipper(), self.config)

    def rows(self) -> dict[tuple[str, str], int]:
        """Sealed rows by table and run."""
        return {
            (table, row["run_id"]): row["n"]
            for table in TIME_COLUMNS
            for row in self.store.query(f"SELECT run_id, count(*) AS n FROM {table} GROUP BY ALL").to_pylist()
        }


def samples(run_id: str, speed: float, seconds: int) -> list[Sample]:
    """One second's counters, GPU and a request, for so many seconds."""
    samples: list[Sample] = [Event(run_id, NOW, "state", "finished", data={"state": "finished"})]
    for second in range(seconds):
        ts, n = NOW + timedelta(seconds=second), float(second)
        samples.append(
            CounterSample(
                run_id, ts, n, "vllm.counter", 0, generation_tokens_total=speed * n / 3, first_tokens_total=1.0,
                inter_token_count_total=speed * n / 3, drafts_total=speed * n / 7, draft_tokens_total=speed * n / 5,
                accepted_tokens_total=speed * n / 11, accepted_per_pos_total=[speed * n / 13, speed * n / 17],
                requests_running=1.0, requests_waiting=0.0,
            )
        )  # fmt: skip
        samples.append(
            GpuSample(run_id, ts, n, "m", 0, "GPU-1", "H200", power_w=300.0 + n / 3, memory_kind="dedicated")
        )
        samples.append(
            RequestRecord(
                run_id, f"q{second}", "five-prompts", "measure", "chat", 0, 1, ts, ttft_ms=10.0 + n / 3,
                decode_ms=900.0, total_ms=1000.0, completion_tokens=50, token_source="usage", prompt_hash=f"p{second}",
            )
        )  # fmt: skip
    return samples


def lake_rows(config: LakeConfig) -> dict[tuple[str, str], int]:
    """Rows by table and run, as the lake has them."""
    with opened_lake(config, read_only=True) as connection:
        return {
            (table, run_id): count
            for table in TIME_COLUMNS
            for run_id, count in connection.execute(
                f"SELECT run_id, count(*) FROM lake.{table} GROUP BY ALL"
            ).fetchall()
        }


def assert_whole(config: LakeConfig, *boxes: Box) -> None:
    """Ledger, rows and what the boxes have agree."""
    assert check_lake(config) == []
    expected: dict[tuple[str, str], int] = {}
    for box in boxes:
        expected |= box.rows()
    assert lake_rows(config) == expected


def assert_no_orphan(config: LakeConfig) -> None:
    """Every object below the lake's data path is a file that its catalogue names, and the other way round."""
    with opened_lake(config, read_only=True) as connection:
        rows = connection.execute(f"SELECT file FROM glob('{config.data_path}**/*')").fetchall()
        tables = connection.execute("SELECT table_name FROM ducklake_table_info('lake')").fetchall()
        named_rows = [
            connection.execute(f"SELECT data_file FROM ducklake_list_files('lake', '{table}')").fetchall()
            for (table,) in tables
        ]
    assert {path for (path,) in rows} == {path for files in named_rows for (path,) in files}
