"""A server that asks for a login: `with_login.py SECONDS PORT`, where a token lives that long. It is renewed once: who
does it twice loses the login."""

import secrets
import sys
import time
from urllib.parse import urlencode

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl

SECONDS, PORT = float(sys.argv[1]), int(sys.argv[2])
URL = f"http://127.0.0.1:{PORT}"


class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Everybody may log in, and is asked nothing."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.renewals = 0

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[str(client_info.client_id)] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = secrets.token_hex(20)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=str(client.client_id),
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return f"{params.redirect_uri}?{urlencode({'code': code, 'state': params.state or '', 'iss': URL + '/'})}"

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._token(str(client.client_id), authorization_code.resource)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        if self.refresh.pop(refresh_token.token, None) is None:
            self.refresh.clear()
            self.access.clear()
            raise TokenError("invalid_grant", "used twice")
        self.renewals += 1
        return self._token(str(client.client_id), URL + "/mcp")

    async def load_access_token(self, token: str) -> AccessToken | None:
        found = self.access.get(token)
        return found if found is not None and (found.expires_at or 0) > time.time() else None

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)

    def _token(self, client: str, resource: str | None) -> OAuthToken:
        access, refresh = secrets.token_hex(20), secrets.token_hex(20)
        self.access[access] = AccessToken(
            token=access, client_id=client, scopes=[], expires_at=int(time.time() + SECONDS), resource=resource
        )
        self.refresh[refresh] = RefreshToken(token=refresh, client_id=client, scopes=[])
        return OAuthToken(access_token=access, token_type="Bearer", expires_in=int(SECONDS), refresh_token=refresh)


provider = Provider()
server = MCPServer(
    "private",
    auth_server_provider=provider,
    auth=AuthSettings(
        issuer_url=AnyHttpUrl(URL),
        resource_server_url=AnyHttpUrl(f"{URL}/mcp"),
        validate_token_resource=True,
        client_registration_options=ClientRegistrationOptions(enabled=True),
    ),
)


@server.tool()
def renewals() -> int:
    """How often tokens were renewed."""
    return provider.renewals


@server.tool()
def forget() -> str:
    """Let no token count any more that was given out."""
    provider.access.clear()
    return "done"


if __name__ == "__main__":
    server.run("streamable-http", port=PORT, host="127.0.0.1")
