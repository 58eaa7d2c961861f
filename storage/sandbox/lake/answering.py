"""What the process without a network does: attaches the lake through the forwarder, confines itself, and answers."""

from __future__ import annotations

import socket
import sys

import duckdb

from storage.ask.literals import quoted
from storage.lake.config import LakeConfig, LakeError
from storage.lake.connection import attach_to_read, errors_without_secrets
from storage.lake.lake_reader import define_lake_views
from storage.lake.tls import refused_certificate
from storage.sandbox.answering import CONFIG, answer, say
from storage.sandbox.confinement import confine_files, knows_ports, limit_resources
from storage.sandbox.job import Fault, Job, SqlRefusedError, encode_answer, encode_refusal
from storage.sandbox.lake.forwarder import open_ports
from storage.sandbox.lake.ways import HERE, readable, targets, through

CANNOT_CLOSE = (
    "The lake is not asked here: this machine's kernel can keep no statement off the network (it needs user "
    "namespaces, or Landlock from version 4)."
)


def answer_stdin(way_out: socket.socket, is_apart: bool) -> None:
    """The whole life of the process; `is_apart`: it has a network of its own already."""
    job = Job.decode(sys.stdin.buffer.read())
    config = LakeConfig.model_validate_json(job.lake or "")
    try:
        if not (is_apart or knows_ports()):
            raise SqlRefusedError(Fault.UNAVAILABLE, CANNOT_CLOSE)
        say(encode_answer(answer(job, lambda: _opened(job, config, way_out))))
    except LakeError as error:
        say(encode_refusal(SqlRefusedError(Fault.UNAVAILABLE, f"The lake does not answer: {config.hide(str(error))}")))
    except SqlRefusedError as refusal:
        words = refused_certificate(config, str(refusal)) or config.hide(str(refusal))
        say(encode_refusal(SqlRefusedError(refusal.fault, words)))


def _opened(job: Job, config: LakeConfig, way_out: socket.socket) -> duckdb.DuckDBPyConnection:
    """The store's views over the lake, in a DuckDB and a process that reach nothing else. Raises LakeError.

    The order matters, as for the published file: what is needed is read and attached first.
    """
    ports = open_ports(way_out, targets(config))
    near, password = through(config, ports[0])
    with errors_without_secrets(near):
        connection = duckdb.connect(config={**CONFIG, "memory_limit": f"{job.limits.memory_bytes}B"})
        if config.s3:
            connection.execute(f"SET http_proxy = {quoted(f'{HERE}:{ports[1]}')}")
        attach_to_read(connection, near, password)
        with duckdb.connect(job.published, read_only=True, config={"threads": 1}) as published:
            definitions = published.execute("FROM raw.metric_definitions").to_arrow_table()
        define_lake_views(connection, definitions)
        connection.execute("SET TimeZone = 'UTC'; SET temp_directory = ''")
        close_settings(connection, config)
    limit_resources(job.limits)  # only now: the extensions are linked in a folder for the moment
    confine_files(readable(config), ports)
    return connection


def close_settings(connection: duckdb.DuckDBPyConnection, config: LakeConfig) -> None:
    """DuckDB's own wall: the lake's folder is all that it opens, and no statement changes that."""
    connection.execute(f"SET allowed_directories = [{quoted(config.data_path)}]")
    connection.execute("SET enable_external_access = false; SET lock_configuration = true")
