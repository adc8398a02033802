#!/usr/bin/env bash
# A model's stream that ends in the middle of an answer, read by the vendors' own clients.
#
# Guessed: the client raises, because the last event never came.
# Seen with openai 3.57.0 and anthropic 2.14.0, Python 3.11, Linux, when a server or a proxy ends its response properly
# before the answer is whole (no `finish_reason` and no [DONE]; no `message_delta` and no `message_stop`):
#   - iteration over the chunks of OpenAI's client ends as after a whole answer;
#   - the helpers return a final object with the words so far: `get_final_completion()`, `get_final_message()`;
#   - the one sign is its end: `finish_reason` and `stop_reason` are None.
# So an answer is whole when its end has come, not when the loop over it is over.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check openai==3.57.0 anthropic==2.14.0

cat >probe.py <<'P'
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from anthropic import Anthropic
from openai import OpenAI

WORDS = "Delete everything but"
ASKED = [{"role": "user", "content": "What is to be done?"}]


def chat():
    choice = {"index": 0, "delta": {"role": "assistant", "content": WORDS}, "finish_reason": None}
    yield {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def messages():
    begun = {"id": "1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None}
    begun |= {"stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 1}}
    yield {"type": "message_start", "message": begun}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": WORDS}}


class Service(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in messages() if self.path.endswith("messages") else chat():
            name = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
openai = OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0).chat.completions
anthropic = Anthropic(base_url=url, api_key="any", max_retries=0).messages

ends = [chunk.choices[0].finish_reason for chunk in openai.create(model="m", messages=ASKED, stream=True)]
with openai.stream(model="m", messages=ASKED) as stream:
    completion = stream.get_final_completion().choices[0]
with anthropic.stream(model="m", max_tokens=100, messages=ASKED) as stream:
    message = stream.get_final_message()
seen = [ends, (completion.message.content, completion.finish_reason), (message.content[0].text, message.stop_reason)]
print(*seen, sep="\n")
assert seen == [[None], (WORDS, None), (WORDS, None)], "changed"
P
env/bin/python probe.py
echo "as stated"
