"""Server of the demo engine: llama.cpp's own HTTP server, inside this process, with llama-server's flags."""

from __future__ import annotations

import argparse
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from demo.model import ModelFiles, Shape, make_model, shape_of
from errors import PitwallError

if TYPE_CHECKING:
    from xllamacpp import CommonParams

SPEC_TYPES = ("none", "draft-simple", "ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache")
CACHE_TYPES = ("f16", "q8_0", "q4_0")

NOT_INSTALLED = "the demo engine is not installed: run 'pip install -r requirements-demo.txt'"


class CannotServeError(PitwallError):
    """The server cannot start; the message is one sentence for the user."""


def add_serve_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of llama-server that the demo engine takes, under the same names."""
    parser.add_argument("-m", "--model", type=Path, required=True)
    parser.add_argument("-md", "--model-draft", "--spec-draft-model", type=Path)
    parser.add_argument("--draft-max", "--spec-draft-n-max", type=int, default=4)
    parser.add_argument("--spec-type", choices=SPEC_TYPES)
    parser.add_argument("--spec-ngram-size-n", type=int, default=12)
    parser.add_argument("--spec-ngram-size-m", type=int, default=48)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("-c", "--ctx-size", type=int, default=4096)
    parser.add_argument("-np", "--parallel", type=int, default=1)
    parser.add_argument("-t", "--threads", type=int, default=1)
    parser.add_argument("-a", "--alias", default="demo")
    parser.add_argument("--metrics", action="store_true")
    parser.add_argument("--slots", action="store_true")
    parser.add_argument("-ctk", "--cache-type-k", choices=CACHE_TYPES, default="f16")
    parser.add_argument("-ctv", "--cache-type-v", choices=CACHE_TYPES, default="f16")
    parser.add_argument("--no-cache-prompt", dest="cache_prompt", action="store_false")
    parser.add_argument("-cram", "--cache-ram", type=int, default=8192, help="MiB for prompts that left their slot")
    parser.add_argument("--chat-template-file", type=Path, help="instead of the model's own")


def serve(flags: argparse.Namespace) -> None:
    """Serve until SIGTERM or SIGINT; raises CannotServeError for what the user can fix."""
    stop_signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stop_signals)  # during startup; llama.cpp's threads inherit the mask
    provide_files(flags)
    check_port(flags.host, flags.port)
    try:
        import xllamacpp
    except ModuleNotFoundError as missing:
        raise CannotServeError(NOT_INSTALLED) from missing
    try:
        server = xllamacpp.Server(server_params(flags))
    except RuntimeError as refusal:
        raise CannotServeError(f"llama.cpp could not start with {flags.model}: {refusal}") from refusal
    signal.sigwait(stop_signals)
    del server


def provide_files(flags: argparse.Namespace) -> None:
    """Create the demo's model files if they are missing; refuse any other missing file."""
    for flag, path in (("-m", flags.model), ("-md", flags.model_draft)):
        if path is None or path.is_file():
            continue
        shape = shape_of(path)
        if shape is None:
            raise CannotServeError(f"no model file at {path} ({flag}); 'python -m demo model --dir DIR' makes one")
        print(f"making the demo model in {path.parent}", file=sys.stderr, flush=True)  # noqa: T201
        make_demo_model(path.parent, shape)


def make_demo_model(folder: Path, shape: Shape) -> ModelFiles:
    """Call `make_model`; raises CannotServeError for what the user can fix."""
    try:
        return make_model(folder, shape)
    except ModuleNotFoundError as missing:
        raise CannotServeError(NOT_INSTALLED) from missing
    except OSError as refusal:
        raise CannotServeError(f"cannot write the demo model to {folder}: {refusal.strerror}") from refusal


def check_port(host: str, port: int) -> None:
    """Refuse an address that cannot be bound: llama.cpp itself would share a port that is in use."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as refusal:
            raise CannotServeError(f"cannot listen on {host}:{port}: {refusal.strerror}") from refusal


def server_params(flags: argparse.Namespace) -> CommonParams:
    """Return the flags as llama.cpp's own parameters."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(flags.model)
    params.model_alias = {flags.alias}
    params.hostnames = [flags.host]
    params.port = flags.port
    params.n_ctx = flags.ctx_size
    params.n_parallel = flags.parallel
    params.cpuparams.n_threads = flags.threads
    params.cpuparams_batch.n_threads = flags.threads
    params.endpoint_metrics = flags.metrics
    params.endpoint_slots = flags.slots
    params.endpoint_props = True
    params.cache_prompt = flags.cache_prompt
    params.cache_type_k = getattr(xllamacpp.ggml_type, f"GGML_TYPE_{flags.cache_type_k.upper()}")
    params.cache_type_v = getattr(xllamacpp.ggml_type, f"GGML_TYPE_{flags.cache_type_v.upper()}")
    params.cache_ram_mib = flags.cache_ram
    if flags.chat_template_file:
        params.chat_template = flags.chat_template_file.read_text()
    set_speculation(params, flags)
    return params


def set_speculation(params: CommonParams, flags: argparse.Namespace) -> None:
    """Set speculation by draft model or n-gram; a draft model is set even with an n-gram type, as in llama-server."""
    import xllamacpp

    names = [flags.spec_type or ("draft-simple" if flags.model_draft else "none")]
    kinds = xllamacpp.common_speculative_type
    params.speculative.types = [
        getattr(kinds, "COMMON_SPECULATIVE_TYPE_" + name.upper().replace("-", "_")) for name in names
    ]
    if flags.model_draft:
        params.speculative.draft.mparams.path = str(flags.model_draft)
    params.speculative.draft.n_max = flags.draft_max
    params.speculative.draft.cpuparams.n_threads = flags.threads
    for ngram in (params.speculative.ngram_simple, params.speculative.ngram_map_k, params.speculative.ngram_map_k4v):
        ngram.size_n, ngram.size_m = flags.spec_ngram_size_n, flags.spec_ngram_size_m
    params.speculative.ngram_mod.n_match = flags.spec_ngram_size_n
    params.speculative.ngram_mod.n_max = flags.spec_ngram_size_m
