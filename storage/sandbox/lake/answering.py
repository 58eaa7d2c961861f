"""The process without a network: attaches the lake through the forwarder, confines itself, and runs the statement."""

from __future__ import annotations

import socket
import sys

import duckdb

from storage.lake.config import LakeConfig, LakeError
from storage.lake.connection import attach_to_read, errors_without_secrets
from storage.lake.lake_reader import define_lake_views
from storage.lake.tls import refused_certificate
from storage.queries.literals import quoted
from storage.sandbox.answering import CONFIG, answer_job, write_output
from storage.sandbox.confinement import confine_files, knows_ports, limit_resources
from storage.sandbox.job import Fault, SandboxJob, SqlRefusedError, encode_answer, encode_refusal
from storage.sandbox.lake.forwarder import open_ports
from storage.sandbox.lake.lake_addresses import LOOPBACK, readable_paths, redirect_catalogue, targets

CANNOT_ISOLATE = (
    "SQL on the lake is not available on this machine: its kernel cannot keep statements off the network (this needs "
    "user namespaces, or Landlock version 4)."
)


def answer_stdin(forwarder_socket: socket.socket, is_isolated: bool) -> None:
    """Run the whole process; `is_isolated`: it already has its own network namespace."""
    job = SandboxJob.decode(sys.stdin.buffer.read())
    config = LakeConfig.model_validate_json(job.lake or "")
    try:
        if not (is_isolated or knows_ports()):
            raise SqlRefusedError(Fault.UNAVAILABLE, CANNOT_ISOLATE)
        write_output(encode_answer(answer_job(job, lambda: _open_connection(job, config, forwarder_socket))))
    except LakeError as error:
        write_output(
            encode_refusal(SqlRefusedError(Fault.UNAVAILABLE, f"The lake does not answer: {config.hide(str(error))}"))
        )
    except SqlRefusedError as refusal:
        text = refused_certificate(config, str(refusal)) or config.hide(str(refusal))
        write_output(encode_refusal(SqlRefusedError(refusal.fault, text)))


def _open_connection(job: SandboxJob, config: LakeConfig, forwarder_socket: socket.socket) -> duckdb.DuckDBPyConnection:
    """Open the store's views over the lake, in a DuckDB and a process that reach nothing else. Raises LakeError.

    The order matters, as for the published file: everything needed is read and attached first.
    """
    ports = open_ports(forwarder_socket, targets(config))
    local_config, password = redirect_catalogue(config, ports[0])
    with errors_without_secrets(local_config):
        connection = duckdb.connect(config={**CONFIG, "memory_limit": f"{job.limits.memory_bytes}B"})
        if config.s3:
            connection.execute(f"SET http_proxy = {quoted(f'{LOOPBACK}:{ports[1]}')}")
        attach_to_read(connection, local_config, password)
        with duckdb.connect(job.published, read_only=True, config={"threads": 1}) as published:
            definitions = published.execute("FROM raw.metric_definitions").to_arrow_table()
        define_lake_views(connection, definitions)
        connection.execute("SET TimeZone = 'UTC'; SET temp_directory = ''")
        close_settings(connection, config)
    limit_resources(job.limits)  # only now, because the extensions are linked in a temporary folder
    confine_files(readable_paths(config), ports)
    return connection


def close_settings(connection: duckdb.DuckDBPyConnection, config: LakeConfig) -> None:
    """Restrict DuckDB to the lake's folder and lock its settings."""
    connection.execute(f"SET allowed_directories = [{quoted(config.data_path)}]")
    connection.execute("SET enable_external_access = false; SET lock_configuration = true")
