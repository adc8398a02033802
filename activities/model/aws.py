"""AWS as people configure it: regions, profiles, credentials. By botocore, an extra that is imported once it is needed.

botocore reads files, runs programs and asks services for credentials, and some of these hang: each look-up has a thread
of its own.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

from pydantic import SecretStr

from activities.model.aws_failures import no_answer, no_credentials
from activities.model.aws_routes import EXTRA, AwsRoutes
from activities.model.bedrock_regions import DEFAULT_REGION, check_region, regional_name
from activities.model.endpoint import ENVIRONMENT, AwsSignIn, Endpoint, Route
from activities.model.optional_packages import import_extra
from activities.model.wires.wire_request import WireRequest
from activities.own_thread import on_own_thread, read_in_time
from workflows.domain.config.provider_settings import ProviderOptions
from workflows.domain.errors import ModelError, UsageError

_SERVICE: Final = "bedrock"  # that requests are signed for
_TIMEOUT: Final = 60.0  # seconds for credentials: a role behind single sign-on takes several requests
_FILES: Final = ("credentials_file", "config_file")
_Stamps: TypeAlias = tuple[int, ...]


class _CredentialKey(NamedTuple):
    """Whose credentials to find; without a region, only AWS's files are read."""

    profile: str | None
    region: str | None = None
    route: Route = ENVIRONMENT


class _Credentials(NamedTuple):
    """The credentials that botocore signs requests with."""

    access_key: str
    secret_key: str
    token: str | None


async def place_on_aws(
    endpoint: Endpoint,
    options: ProviderOptions,
    environment: Mapping[str, str],
    region_of: Callable[[str | None], Awaitable[str]],
) -> Endpoint:
    """The endpoint in a region, with who signs in: as configured, else by AWS's variables, else by its files.

    `region_of`: a profile's. Raises UsageError for a profile that is not there, and for a region that can be none.
    """
    region = options.region or environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    profile = options.profile
    keys: dict[str, Any] = {}
    if not profile and environment.get("AWS_ACCESS_KEY_ID") and environment.get("AWS_SECRET_ACCESS_KEY"):
        token = environment.get("AWS_SESSION_TOKEN")
        keys = {
            "access_key": environment["AWS_ACCESS_KEY_ID"],
            "secret_key": SecretStr(environment["AWS_SECRET_ACCESS_KEY"]),
            "token": SecretStr(token) if token else None,
        }
    profile = profile or (None if keys else environment.get("AWS_PROFILE"))
    sign_in = AwsSignIn(region=check_region(region or await region_of(profile)), profile=profile, **keys)
    model = f"{endpoint.provider}/{regional_name(endpoint.name, sign_in.region)}"
    return endpoint.model_copy(update={"model": model, "aws": sign_in})


class AwsProfiles:
    """The profiles of the person whose process this is, with their credentials, as AWS's files have them now."""

    def __init__(self, environment: Mapping[str, str], timeout: float = _TIMEOUT) -> None:
        self._timeout = timeout
        self._routes = AwsRoutes(environment)
        self._sessions: dict[_CredentialKey, tuple[tuple[Path, ...], _Stamps, Any]] = {}
        self._look_ups: dict[_CredentialKey, Future[_Credentials]] = {}  # the newest ones
        self._credentials: dict[_CredentialKey, _Credentials] = {}  # those that requests were signed with last

    async def region(self, profile: str | None) -> str:
        """The profile's region in AWS's files. Raises UsageError for a profile that is not there."""

        def configured() -> str:
            return self._session(_CredentialKey(profile)).get_config_variable("region") or DEFAULT_REGION

        try:
            return await read_in_time("AWS's configuration", configured, self._timeout)
        except UsageError:
            raise
        except Exception as error:  # botocore's
            raise UsageError(f"AWS's configuration cannot be used: {error}") from error

    async def authorize(self, endpoint: Endpoint, prepared: WireRequest) -> WireRequest:
        """The request, signed; one that has an authorization stays as it is. Raises ModelError, and UsageError."""
        sign_in = endpoint.aws or AwsSignIn(region=DEFAULT_REGION)
        if any(name.lower() == "authorization" for name in prepared.headers):
            return prepared
        try:
            credentials = _given(sign_in) or await self._find(sign_in, endpoint.route)
            return await asyncio.to_thread(_sign, prepared, credentials, sign_in.region)
        except UsageError:
            raise  # the extra is missing, or a file of authorities
        except TimeoutError:
            failure = no_answer(endpoint.provider, self._timeout, sign_in.profile)
        except Exception as error:  # botocore's
            failure = no_credentials(endpoint.provider, error, sign_in.profile)
        raise ModelError(failure)  # without its cause, which may quote a program

    def secrets(self) -> Iterator[str]:
        """The secrets that no failure may show."""
        for credentials in tuple(self._credentials.values()):  # threads add more
            yield credentials.secret_key
            yield credentials.token or ""

    async def _find(self, sign_in: AwsSignIn, route: Route) -> _Credentials:
        """New ones, if those that were found last end soon. Requests share a look-up that is under way.

        One that hangs is not started a second time, and delays only those of its own profile.
        """
        who = _CredentialKey(sign_in.profile, sign_in.region, route)
        if who not in self._look_ups or self._look_ups[who].done():
            self._look_ups[who] = on_own_thread(lambda: self._look_up(who))
        async with asyncio.timeout(self._timeout):
            return await asyncio.wrap_future(self._look_ups[who])

    def _look_up(self, who: _CredentialKey) -> _Credentials:
        found = self._session(who).get_credentials()
        if found is None:
            raise import_extra(EXTRA, "botocore.exceptions").NoCredentialsError
        frozen = found.get_frozen_credentials()
        self._credentials[who] = _Credentials(frozen.access_key, frozen.secret_key, frozen.token)
        return self._credentials[who]

    def _session(self, who: _CredentialKey) -> Any:
        """botocore's session, which keeps what it has read: a new one once a file has changed."""
        files, stamps, session = self._sessions.get(who, ((), (), None))
        if session is None or stamps != _stamps(files):
            session = _new_session(who.profile, who.region)
            files = tuple(Path(session.get_config_variable(name)).expanduser() for name in _FILES)
            if who.region:
                files += self._routes.take(session, who.route)
            self._sessions[who] = files, _stamps(files), session
        return session


def _given(sign_in: AwsSignIn) -> _Credentials | None:
    if not (sign_in.access_key and sign_in.secret_key):
        return None
    token = sign_in.token.get_secret_value() if sign_in.token else None
    return _Credentials(sign_in.access_key, sign_in.secret_key.get_secret_value(), token)


def _sign(prepared: WireRequest, credentials: _Credentials, region: str) -> WireRequest:
    request = import_extra(EXTRA, "botocore.awsrequest").AWSRequest("POST", prepared.url, data=prepared.body)
    import_extra(EXTRA, "botocore.auth").SigV4Auth(credentials, _SERVICE, region).add_auth(request)
    return WireRequest(prepared.url, {**prepared.headers, **dict(request.headers.items())}, prepared.pieces)


def _new_session(profile: str | None, region: str | None) -> Any:
    logging.getLogger("botocore").setLevel(logging.ERROR)  # else it logs what it signs
    session = import_extra(EXTRA, "botocore.session").Session(profile=profile)
    if region:  # of a service that is asked for credentials
        session.set_config_variable("region", region)
        # it would read a code from the worker's terminal
        session.get_component("credential_provider").get_provider("assume-role")._prompter = _refuse_to_prompt
    return session


def _refuse_to_prompt(_: str) -> NoReturn:
    raise import_extra(EXTRA, "botocore.exceptions").RefreshWithMFAUnsupportedError


def _stamps(files: tuple[Path, ...]) -> _Stamps:
    return tuple(file.stat().st_mtime_ns if file.exists() else 0 for file in files)
