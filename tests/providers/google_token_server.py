"""Google's token server, from its documents: signed assertions of service accounts, and refresh tokens of people.

It answers as https://developers.google.com/identity/protocols/oauth2/service-account and
https://www.rfc-editor.org/rfc/rfc6749#section-5 say.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from ssl import SSLContext
from typing import Any, Final

from aiohttp import BasicAuth, web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import jwt

ACCOUNT: Final = "agent@some-project.iam.gserviceaccount.com"
REFRESH_TOKEN: Final = "1//refresh-local"
_SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
_KEY: Final = rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass
class TokenServer:
    """Gives `token`, for `seconds`; `failing`: a status and a body that it answers instead."""

    token: str
    seconds: int = 3599
    failing: tuple[int, Any] | None = None
    asked: list[str] = field(default_factory=list)  # kinds of grants
    url: str = ""

    async def answer(self, request: web.Request) -> web.Response:
        form = await request.post()
        kind = str(form.get("grant_type"))
        self.asked.append(kind)
        if self.failing is not None:
            status, body = self.failing
            return web.json_response(body, status=status)
        wrong = self._wrong_assertion(form) if kind.endswith("jwt-bearer") else self._wrong_refresh(request, form)
        if wrong:
            return web.json_response({"error": "invalid_grant", "error_description": wrong}, status=400)
        return web.json_response({"access_token": self.token, "expires_in": self.seconds, "token_type": "Bearer"})

    def _wrong_assertion(self, form: Any) -> str:
        public = _KEY.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        try:
            claims = jwt.decode(form["assertion"], certs=public, audience="https://oauth2.googleapis.com/token")  # type: ignore[no-untyped-call]
        except ValueError:
            return "Invalid JWT Signature."
        return "" if (claims["iss"], claims["scope"]) == (ACCOUNT, _SCOPE) else "Invalid claims."

    def _wrong_refresh(self, request: web.Request, form: Any) -> str:
        client = BasicAuth.decode(request.headers["authorization"])
        known = (client.login, client.password, form["refresh_token"]) == ("client", "a-secret", REFRESH_TOKEN)
        return "" if known and form["grant_type"] == "refresh_token" else "Token has been expired or revoked."


@asynccontextmanager
async def serve_tokens(server: TokenServer, tls: SSLContext | None = None) -> AsyncIterator[TokenServer]:
    """With `tls`, it is `localhost`."""
    application = web.Application()
    application.router.add_post("/token", server.answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    server.url = f"{'https://localhost' if tls else 'http://127.0.0.1'}:{runner.addresses[0][1]}/token"
    try:
        yield server
    finally:
        await runner.cleanup()


def write_service_account(path: Path, token_uri: str) -> Path:
    """A key of a service account, as Google's console gives it out."""
    private = _KEY.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    entries = {
        "type": "service_account",
        "project_id": "some-project",
        "private_key_id": "1",
        "private_key": private.decode(),
        "client_email": ACCOUNT,
        "token_uri": token_uri,
    }
    path.write_text(json.dumps(entries))
    return path


def write_user(path: Path, token_uri: str) -> Path:
    """What `gcloud auth application-default login --login-config` leaves for a person of a workforce pool.

    Other people's files name no server.
    """
    entries = {
        "type": "external_account_authorized_user",
        "audience": "//iam.googleapis.com/locations/global/workforcePools/some-pool/providers/some-provider",
        "client_id": "client",
        "client_secret": "a-secret",
        "refresh_token": REFRESH_TOKEN,
        "token_url": token_uri,
    }
    path.write_text(json.dumps(entries))
    return path
