"""The exported metrics: name, unit, labels and help of each. docs/prometheus.md lists them for readers."""

from __future__ import annotations

from dataclasses import dataclass, field

from domain import CANCELLED, RunState

RUN_STATES = (*RunState, CANCELLED)
STUDY_STATES = ("running", "paused", "ended")
GUARD_STATES = ("ranked", "refused")


@dataclass(frozen=True, slots=True)
class ExportedMetric:
    """One metric: a gauge, an info (constant 1 with descriptive labels) or a state set (1 for the current state).

    unit: in base units as OpenMetrics names them, the end of the name; '' for a count.
    states: of a state set, whose last label has the metric's own name.
    """

    name: str
    help: str
    labels: tuple[str, ...] = ("run",)
    unit: str = ""
    states: tuple[str, ...] = field(default=())

    @property
    def is_info(self) -> bool:
        return self.name.endswith("_info")


@dataclass(frozen=True, slots=True)
class TileMetric:
    """A metric with the value of a tile of Live, times a factor that turns its unit into the base unit."""

    metric: ExportedMetric
    factor: float = 1.0


MS, MHZ = 1e-3, 1e6

BUILD = ExportedMetric("pitwall_build_info", "Version of this Pitwall.", ("version",))
RUNS = ExportedMetric("pitwall_runs", "Stored runs by state; cancelled ones count as finished.", ("state",))
LEFT_OUT = ExportedMetric("pitwall_runs_left_out", "Live and recently ended runs beyond the limit of this export.", ())
STORE_OK = ExportedMetric("pitwall_store_ok", "1 if the store writes and publishes without failures, 0 if not.", ())
STORE_PENDING = ExportedMetric("pitwall_store_pending_rows", "Rows that wait in memory to be written.", ())
STORE_WAITING = ExportedMetric("pitwall_store_waiting_seconds", "Age of the oldest row not yet durable.", (), "seconds")
STORE_COMMIT_AGE = ExportedMetric("pitwall_store_commit_age_seconds", "Time since the last commit.", (), "seconds")
STORE_PUBLISHED_AGE = ExportedMetric(
    "pitwall_store_published_age_seconds", "Time since the file for readers was published.", (), "seconds"
)
STORE_LOST_FILES = ExportedMetric("pitwall_store_lost_files", "Sealed files that are missing or damaged.", ())

RUN = ExportedMetric("pitwall_run_info", "Description of a run.", ("run", "name", "engine", "model", "kind"))
RUN_STATE = ExportedMetric("pitwall_run_state", "State of a run.", states=RUN_STATES)
DATA_AGE = ExportedMetric(
    "pitwall_run_data_age_seconds", "Time since the last sample of a live run, by its source.", ("run", "source"),
    "seconds",
)  # fmt: skip
HANGING = ExportedMetric("pitwall_run_hanging_collectors", "Collectors of a live run that do not respond.")
UNREAD = ExportedMetric(
    "pitwall_run_unread_bytes", "Bytes of a live run's files not read yet.", ("run", "source"), "bytes"
)
POSITION_ACCEPTANCE = ExportedMetric(
    "pitwall_run_position_acceptance_ratio", "Share of drafts accepted up to a draft position, the first at 0.",
    ("run", "position"), "ratio",
)  # fmt: skip

# The values on the tiles of Live, of live runs: the newest of the last minute.
TILES = {
    "decode_tps": TileMetric(
        ExportedMetric(
            "pitwall_run_decode_tokens_per_second", "Tokens per second of one request while it decodes.",
            unit="tokens_per_second",
        )
    ),
    "steps_per_s": TileMetric(
        ExportedMetric(
            "pitwall_run_steps_per_second", "Decode steps per second, one per running request and engine step.",
            unit="steps_per_second",
        )
    ),
    "tokens_per_step": TileMetric(
        ExportedMetric(
            "pitwall_run_tokens_per_step", "Tokens of one request per decode step.", unit="tokens_per_step"
        )
    ),
    "acceptance_length": TileMetric(
        ExportedMetric(
            "pitwall_run_acceptance_length_tokens", "Tokens per step with the accepted drafts, as the engine counts.",
            unit="tokens",
        )
    ),
    "requests_running": TileMetric(ExportedMetric("pitwall_run_requests_running", "Requests that the server runs.")),
    "requests_waiting": TileMetric(ExportedMetric("pitwall_run_requests_waiting", "Requests that the server queues.")),
    "kv_usage_ratio": TileMetric(
        ExportedMetric("pitwall_run_kv_usage_ratio", "Share of the KV cache in use.", unit="ratio")
    ),
    "gpu_power_w": TileMetric(
        ExportedMetric("pitwall_run_gpu_power_watts", "Power of the GPUs of the run, summed.", unit="watts")
    ),
    "gpu_sm_clock_mhz": TileMetric(
        ExportedMetric("pitwall_run_gpu_sm_clock_hertz", "The lowest SM clock of the run's GPUs.", unit="hertz"), MHZ
    ),
    "server_cpu_cores": TileMetric(
        ExportedMetric("pitwall_run_server_cpu_cores", "CPU cores that the server's processes use.", unit="cores")
    ),
    "server_rss_bytes": TileMetric(
        ExportedMetric("pitwall_run_server_memory_bytes", "Resident memory of the server's processes.", unit="bytes")
    ),
    "server_ttft_ms": TileMetric(
        ExportedMetric(
            "pitwall_run_server_ttft_seconds", "Mean time to first token of the last minute, by the server.",
            unit="seconds",
        ),
        MS,
    ),
    "server_itl_ms": TileMetric(
        ExportedMetric(
            "pitwall_run_server_itl_seconds", "Mean inter-token latency of the last minute, by the server.",
            unit="seconds",
        ),
        MS,
    ),
    "server_e2e_ms": TileMetric(
        ExportedMetric(
            "pitwall_run_server_e2e_seconds", "Mean time of a request of the last minute, by the server.",
            unit="seconds",
        ),
        MS,
    ),
    "load_done_ratio": TileMetric(
        ExportedMetric("pitwall_run_load_done_ratio", "Completed share of the load that runs now.", unit="ratio")
    ),
    "looping_streams": TileMetric(
        ExportedMetric("pitwall_run_looping_streams", "Streams of the current load whose answers loop now.")
    ),
}  # fmt: skip

# Numbers over a whole run, of live runs and of those that ended within the last hour.
STREAM_SPEED = ExportedMetric(
    "pitwall_run_stream_tokens_per_second", "Speed of one stream over the run's loads, by the client's clock.",
    unit="tokens_per_second",
)  # fmt: skip
ENERGY = ExportedMetric(
    "pitwall_run_energy_joules_per_token", "GPU energy per generated token over the run's loads: 1 / tokens_per_j.",
    unit="joules_per_token",
)  # fmt: skip
USERS_HELD = ExportedMetric("pitwall_run_users_held", "Users that the server holds within the limits of the search.")

STUDY = ExportedMetric("pitwall_study_info", "Description of a study.", ("study", "title", "question"))
STUDY_STATE = ExportedMetric("pitwall_study_state", "State of a study.", ("study",), states=STUDY_STATES)
STUDY_GUARD = ExportedMetric(
    "pitwall_study_guard", "Whether the guard lets all measured arms of a study be ranked.", ("study",),
    states=GUARD_STATES,
)  # fmt: skip
STUDY_REFUSALS = ExportedMetric(
    "pitwall_study_refused_pairs", "Pairs of arms that a row of the guard forbids to rank.", ("study", "row")
)

# Batches of the exported runs that are no studies; labels are bounded by their number.
BATCH_GUARD = ExportedMetric(
    "pitwall_batch_guard", "Whether the guard lets all measured arms of a batch be ranked.", ("batch",),
    states=GUARD_STATES,
)  # fmt: skip
BATCH_REFUSALS = ExportedMetric(
    "pitwall_batch_refused_pairs", "Pairs of arms of a batch that a row of the guard forbids to rank.",
    ("batch", "row"),
)  # fmt: skip

EXPORTED = (
    BUILD, RUNS, LEFT_OUT, STORE_OK, STORE_PENDING, STORE_WAITING, STORE_COMMIT_AGE, STORE_PUBLISHED_AGE,
    STORE_LOST_FILES, RUN, RUN_STATE, DATA_AGE, HANGING, UNREAD, POSITION_ACCEPTANCE,
    *(tile.metric for tile in TILES.values()), STREAM_SPEED, ENERGY, USERS_HELD, STUDY, STUDY_STATE, STUDY_GUARD,
    STUDY_REFUSALS, BATCH_GUARD, BATCH_REFUSALS,
)  # fmt: skip
