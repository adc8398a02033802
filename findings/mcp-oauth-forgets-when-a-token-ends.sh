#!/usr/bin/env bash
# What the MCP SDK's OAuth provider does with a stored token that has ended, in a new process.
#
# Guessed: it renews the token with the refresh token that is stored beside it.
# Seen with mcp 2.3.0, Python 3.11: `TokenStorage` keeps tokens and client, but not when the token was given: after a
# restart `is_token_valid()` says that it is valid, whatever its `expires_in` was, it is sent, and the server's 401 leads
# to a new login of a person in the browser; the refresh token is not tried.
# So who lets sessions run longer than a process keeps, beside the tokens, their end and where they are renewed, and
# renews them itself, before the end and at a 401.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0
cat >probe.py <<'P'
import asyncio
import time

import httpx2
from mcp.client.auth.oauth2 import OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken


class Stored:
    """What an earlier process has kept of a token that lived for a second."""

    async def get_tokens(self):
        return OAuthToken(access_token="old", token_type="Bearer", expires_in=1, refresh_token="renews")

    async def set_tokens(self, tokens): ...

    async def get_client_info(self):
        return OAuthClientInformationFull(client_id="c", redirect_uris=["http://127.0.0.1/back"])

    async def set_client_info(self, client_info): ...


async def main():
    asked = []

    def answer(request):
        asked.append(f"{request.method} {request.url.path} {request.headers.get('authorization', '-')}")
        return httpx2.Response(401 if request.url.path == "/mcp" else 404)

    metadata = OAuthClientMetadata(redirect_uris=["http://127.0.0.1/back"])
    opened = []

    async def browser(url):
        opened.append(url)
        raise RuntimeError("a person would have to log in")

    async def back():
        raise AssertionError

    provider = OAuthClientProvider("http://127.0.0.1/mcp", metadata, Stored(), browser, back)
    time.sleep(1.1)
    async with httpx2.AsyncClient(auth=provider, transport=httpx2.MockTransport(answer)) as client:
        try:
            await client.post("http://127.0.0.1/mcp")
        except Exception as error:
            print(type(error).__name__, "-", error)
    print("first:", asked[0])
    print("renewed:", any("/token" in each for each in asked), "browser:", bool(opened))


asyncio.run(main())
P
seen=$(env/bin/python probe.py 2>/dev/null)
echo "$seen"
[ "$seen" = "RuntimeError - a person would have to log in
first: POST /mcp Bearer old
renewed: False browser: True" ]
echo "as stated"
