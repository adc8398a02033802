"""LoginAuth: how requests to a server carry a person's login.

The SDK's own provider forgets with its process when a token ends and where it is renewed. Here the file knows both, and
one process at a time renews a token: of two that renew the same one, a server may end both logins.
"""

import base64
import json
import time
from collections.abc import AsyncGenerator, Callable
from typing import Final
from urllib.parse import quote

import httpx2
from pydantic import SecretStr

from activities.credentials.logins import Login, Logins
from workflows.domain.errors import LoginNeeded

_EARLY: Final = 60.0  # seconds before its end that a token is renewed


class LoginAuth(httpx2.Auth):
    """Sends a login along, and renews it before it ends, and when the server refuses it."""

    requires_response_body = True

    def __init__(self, name: str, url: str, logins: Logins, on_refusal: Callable[[httpx2.Request], None]) -> None:
        self._name = name
        self._url = url
        self._logins = logins
        self._on_refusal = on_refusal

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        login = self._logins.get(self._url)
        if login is not None and login.ends_at is not None and login.ends_at - _EARLY < time.time():
            async with self._logins.locked():
                login = self._logins.get(self._url) or login
                if login.refresh_token is not None and (login.ends_at or 0) - _EARLY < time.time():
                    login = await self._renewed(login, (yield _renewal(login)))
        if login is not None:
            request.headers["Authorization"] = f"Bearer {login.access_token.get_secret_value()}"
        response = yield request
        if response.status_code != 401:
            return
        if login is not None:
            async with self._logins.locked():
                newer = self._logins.get(self._url)
                if newer == login and login.refresh_token is not None:
                    newer = await self._renewed(login, (yield _renewal(login)))
            if newer is not None and newer != login:
                request.headers["Authorization"] = f"Bearer {newer.access_token.get_secret_value()}"
                if (yield request).status_code != 401:
                    return
        self._on_refusal(request)
        why = "It asks for a login" if login is None else "Its login has ended"
        raise LoginNeeded(f"{why}: `holdfast mcp auth {self._name}`.")

    async def _renewed(self, login: Login, response: httpx2.Response) -> Login:
        """The login as the server has renewed it; the same if it has not."""
        body = await response.aread()
        if response.status_code != 200:
            return login
        try:
            renewed = login.model_copy(update=read_token(body))
        except (ValueError, KeyError, TypeError):
            return login
        await self._logins.renew(self._url, login, renewed)
        return renewed


def read_token(body: bytes) -> dict[str, object]:
    """The fields of a login in a token endpoint's answer. Raises ValueError, KeyError, TypeError."""
    answer = json.loads(body)
    seconds, refresh, scope = (answer.get(name) for name in ("expires_in", "refresh_token", "scope"))
    found: dict[str, object] = {
        "access_token": SecretStr(str(answer["access_token"])),
        "ends_at": time.time() + float(seconds) if seconds is not None else None,
    }
    return found | ({"refresh_token": SecretStr(str(refresh))} if refresh else {}) | ({"scope": scope} if scope else {})


def _renewal(login: Login) -> httpx2.Request:
    assert login.refresh_token is not None
    form = {
        "grant_type": "refresh_token",
        "refresh_token": login.refresh_token.get_secret_value(),
        "client_id": login.client,
    }
    if login.resource is not None:
        form["resource"] = login.resource
    headers = {"Accept": "application/json"}
    secret = login.client_secret.get_secret_value() if login.client_secret is not None else None
    if secret is not None and login.basic:
        pair = f"{quote(login.client, safe='')}:{quote(secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    elif secret is not None:
        form["client_secret"] = secret
    return httpx2.Request("POST", login.token_url, data=form, headers=headers)
