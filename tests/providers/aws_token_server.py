"""AWS's Security Token Service, as its model has it: credentials of a role, for who has those of a person."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from ssl import SSLContext

from aiohttp import web

from tests.providers.bedrock_converse import ACCESS_KEY, SECRET_KEY

_FILES = {
    "config": """[profile work]
role_arn = arn:aws:iam::123456789012:role/worker
source_profile = base
""",
    "credentials": f"""[base]
aws_access_key_id = {ACCESS_KEY}
aws_secret_access_key = {SECRET_KEY}
""",
}


@asynccontextmanager
async def serve_roles(tls: SSLContext) -> AsyncIterator[str]:
    """Its address."""
    application = web.Application()
    application.router.add_post("/", _assume_role)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    try:
        yield f"https://localhost:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def _assume_role(request: web.Request) -> web.Response:
    form = await request.post()
    assert form["Action"] == "AssumeRole" and ACCESS_KEY in request.headers["Authorization"]
    ends = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    fields = {"AccessKeyId": "ASIALOCALROLE", "SecretAccessKey": "secret", "SessionToken": "t", "Expiration": ends}
    given = "".join(f"<{name}>{value}</{name}>" for name, value in fields.items())
    text = f"<AssumeRoleResult><Credentials>{given}</Credentials></AssumeRoleResult>"
    return web.Response(text=f"<AssumeRoleResponse>{text}</AssumeRoleResponse>", content_type="text/xml")


def write_profile(folder: Path, address: str) -> Mapping[str, str]:
    """AWS's files with the profile `work`, which has that role; the variables that name them and the service."""
    for name, text in _FILES.items():
        (folder / name).write_text(text)
    return {
        "AWS_CONFIG_FILE": str(folder / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(folder / "credentials"),
        "AWS_ENDPOINT_URL_STS": address,
        "AWS_MAX_ATTEMPTS": "1",
    }
