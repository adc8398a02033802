"""Servers of tools in the configuration (opencode.md 10)."""

from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, ConfigDict, PositiveInt, model_validator
from pydantic.alias_generators import to_camel

from workflows.domain.config.section import Section

_MAX_NAME_LENGTH: Final = 64  # characters: it begins the names of its tools, which providers bound


def _check_name(name: str) -> str:
    if not name.isprintable() or not 0 < len(name) <= _MAX_NAME_LENGTH:
        raise ValueError(f"a server's name has 1 to {_MAX_NAME_LENGTH} printable characters")
    return name


ServerName = Annotated[str, AfterValidator(_check_name)]


class McpOAuth(Section):
    """How to log in to a server that asks for it."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True)

    client_id: str | None = None
    """The id of a client that is registered with it; without one, one is registered."""
    client_secret: str | None = None
    """The secret of that client, best as `{env:NAME}` or `{file:path}`."""
    scope: str | None = None
    """What is asked for, in place of what it names itself."""
    callback_port: PositiveInt | None = None
    """The local port to which the browser comes back."""
    redirect_uri: str | None = None
    """The address to which the browser comes back."""


class McpServer(Section):
    """A server of tools, prompts and resources: a program, or an address."""

    type: Literal["local", "remote"] | None = None
    """`local` runs `command`, `remote` asks `url`."""
    command: tuple[str, ...] = ()
    """The program and its arguments."""
    cwd: str | None = None
    """Where the program runs; by default in the session's directory."""
    environment: dict[str, str] = {}
    """More variables of the program, best as `{env:NAME}`."""
    url: str | None = None
    """The address."""
    headers: dict[str, str] = {}
    """More headers of its requests."""
    oauth: McpOAuth | Literal[False] = McpOAuth()
    """How to log in; false: never."""
    enabled: bool = True
    """Whether it is used."""
    timeout: PositiveInt | None = None
    """How long it may be silent, in milliseconds: when it starts, and while a call runs."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        wanted = {"local": ("command", self.command), "remote": ("url", self.url), None: ("type", not self.enabled)}
        name, given = wanted[self.type]
        if not given:
            raise ValueError(f"a server needs the field {name!r}" + (", `local` or `remote`" if name == "type" else ""))
        return self


class McpTrust(Section):
    """What you know about a server."""

    model_config = ConfigDict(extra="forbid")

    trusted: bool = False
    """Whether it is believed when it says that a tool only reads, or may run twice."""
    protocol: str | None = None
    """The version of the protocol that it is asked in, or `legacy`; by default both agree on one."""
