#!/usr/bin/env bash
# The `timeout` of a vendor's client for models.
#
# Guessed: after that time the call has ended, and the model was asked once.
# Seen with openai 3.57.0, Python 3.11, Linux, `timeout=2.0` and everything else as it comes:
#   - an answer whose pieces, or comments that only keep the connection open, come more often than every 2 seconds is
#     read for as long as it takes: the time counts anew for each piece;
#   - an answer of which nothing comes ends as APITimeoutError after three times 2 seconds and two pauses, and the
#     service has got three requests: each may have been worked on, and be paid for.
# So a deadline is a clock of one's own around the call, and who counts requests switches the client's own retries off.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check openai==3.57.0

cat >probe.py <<'P'
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from openai import APITimeoutError, OpenAI

PAUSE, COMMENTS = 0.5, 12
requests = []


class Service(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        requests.append(asked["model"])
        if asked["model"] == "silent":
            time.sleep(30)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for _ in range(COMMENTS):
            self.wfile.write(b": still at work\n\n")
            time.sleep(PAUSE)
        choice = {"index": 0, "delta": {"content": "Done."}, "finish_reason": "stop"}
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
Thread(target=server.serve_forever, daemon=True).start()
client = OpenAI(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="any", timeout=2.0).chat.completions
asked = [{"role": "user", "content": "Go."}]

begun = time.monotonic()
said = [chunk.choices[0].delta.content for chunk in client.create(model="slow", messages=asked, stream=True)]
took = time.monotonic() - begun
print(f"slow: {said} after {took:.1f} seconds, {len(requests)} request")
assert said == ["Done."] and took > PAUSE * COMMENTS > 2.0 and requests == ["slow"], "changed"

try:
    client.create(model="silent", messages=asked)
    raise AssertionError("changed: an answer")
except APITimeoutError as error:
    print(f"silent: {error} {requests.count('silent')} requests")
assert requests.count("silent") == 3, "changed"
os._exit(0)  # threads of the service still sleep
P
env/bin/python probe.py
echo "as stated"
