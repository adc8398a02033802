"""A server whose list of tools has no end, in the protocol of 2025."""

import json
import sys

ANSWERS = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "endless", "version": "1"},
    },
    "tools/list": {"tools": [], "nextCursor": "more"},
}

for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        known = ANSWERS.get(asked["method"])
        answer = {"result": known} if known else {"error": {"code": -32601, "message": "unknown"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
