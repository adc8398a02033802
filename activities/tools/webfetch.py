"""webfetch: what is at an address on the net, as text, a picture or a PDF."""

import asyncio
from functools import partial
from pathlib import PurePath
from typing import Final, Literal

from pydantic import Field

from activities.files.file_type import HEAD_BYTES, media_type
from activities.tools.arguments import Params
from activities.tools.built_in_tool import BuiltInTool
from activities.tools.shown_media import show_media
from activities.tools.tool import Output, Plan, ToolContext, WebHandle
from activities.turn_context import TurnContext
from activities.web.fetch_request import Fetched, FetchRequest
from activities.web.page import is_page, text_of
from activities.web.web_address import WebAddress, parse_address
from workflows.domain.call_display import CallDisplay, DisplayKind
from workflows.domain.effects import Effect, Recovery
from workflows.domain.errors import FetchError, ToolError
from workflows.domain.permissions import permission_keys
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Action

LIMIT: Final = 5 * 1024 * 1024  # bytes (opencode.md 7.2)
_LONGEST: Final = 120.0  # seconds (opencode.md 7.2)
_PREFERRED: Final = {  # servers that have several forms of a text give the one that needs no conversion
    "markdown": "text/markdown;q=1, text/plain;q=0.9, text/html;q=0.8, */*;q=0.1",
    "text": "text/plain;q=1, text/markdown;q=0.9, text/html;q=0.8, */*;q=0.1",
    "html": "text/html;q=1, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.1",
}
_NO_TEXT: Final = "(The page has no text: scripts may write it. The format html shows what the server sends.)"


class WebFetchParams(Params):
    url: str
    format: Literal["markdown", "text", "html"] = "markdown"
    timeout: float = Field(default=30, gt=0)


class WebFetchTool(BuiltInTool[WebFetchParams]):
    """Repeatable, as it only sends GET, which asks a server for no change (RFC 9110, 9.2.1): of an attempt that died,
    nobody has seen the answer, and the model could only ask again."""

    name = "webfetch"
    recovery = Recovery.REPEATABLE
    machine_bound = False
    params = WebFetchParams
    display = CallDisplay(kind=DisplayKind.READ, verb="fetch", subject="url")

    async def plan(self, params: WebFetchParams, turn: TurnContext) -> Plan:
        if not params.url.lower().startswith(("http://", "https://")):
            raise ToolError("URL must start with http:// or https://")
        try:
            address = parse_address(params.url)
        except FetchError as error:
            raise ToolError(f"The URL cannot be fetched: {error}.") from error
        try:
            address.check(turn.web.private_hosts)
        except FetchError as error:
            raise ToolError(
                f"{address.url} cannot be fetched: {error}. Only a person can allow hosts of their own network, by "
                "holdfast.web.private_hosts of their configuration."
            ) from error
        return Plan(
            requests=(_request(address),),
            effect=Effect(
                tool=self.name,
                arguments=params.model_dump(mode="json") | {"url": address.url},
                directory=str(turn.workspace.directory),
            ),
        )

    async def run(self, params: WebFetchParams, plan: Plan, context: ToolContext) -> Output:
        (asked,) = plan.requests
        url = asked.patterns[0]
        request = FetchRequest(
            url=url,
            limit=LIMIT,
            seconds=min(params.timeout, _LONGEST),
            # the call's own alone: no page of a stranger leads to another
            named=frozenset({parse_address(url).authority}.intersection(context.turn.web.private_hosts)),
            accept=_PREFERRED[params.format],
        )
        try:
            found = await context.web.fetch(request, partial(_may_fetch, asked, context.turn))
            return await _output(found, params, context.web)
        except FetchError as error:
            raise ToolError(f"{url} cannot be fetched: {error}.") from error


def _request(address: WebAddress) -> PermissionRequest:
    """An "always" saves the host."""
    return PermissionRequest(
        permission=permission_keys.WEBFETCH,
        patterns=(address.url,),
        always=(f"{address.scheme}://{address.authority}/*",),
        metadata={"url": address.url},
    )


def _may_fetch(asked: PermissionRequest, turn: TurnContext, url: str) -> bool:
    """Whether a call may go on to `url`: by rules that allow it, or by those that have asked about the same host.

    Raises ToolError for what a person has to be asked about: another call does.
    """
    (first,) = asked.patterns
    if url == first:
        return True
    onward = parse_address(url)
    same_host = onward.is_same_host(parse_address(first))
    found, before = turn.rules.findings(_request(onward)), turn.rules.findings(asked)
    if any(each.action is Action.DENY for each in found):
        return False
    if all(
        each.action is Action.ALLOW or (same_host and each == above) for each, above in zip(found, before, strict=True)
    ):
        return True
    raise ToolError(
        f"{first} leads on to {url}, and has not been followed: a person is asked about each host. Call the tool with "
        "that URL if you need what is there."
    )


async def _output(found: Fetched, params: WebFetchParams, web: WebHandle) -> Output:
    title = f"{found.url} ({found.media_type or 'of no type'})"
    content = found.content or b""
    media = media_type(content[:HEAD_BYTES], PurePath())
    if media is not None:
        shown = await asyncio.to_thread(show_media, content, media, found.url, "fetched")
        return Output(title=title, output=shown.text, attachments=(shown.attachment,))
    text = await asyncio.to_thread(text_of, found)
    if text is None:
        raise FetchError(
            f"it is no text, picture or PDF, but {found.media_type or 'of no type'} ({len(content):,} bytes)"
        )
    if params.format != "html" and is_page(found):
        text = await web.convert(text, "plain" if params.format == "text" else "markdown", found.url) or _NO_TEXT
    return Output(title=title, output=text)
