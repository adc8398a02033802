"""What is fetched from the net, and what came."""

from pydantic import SecretStr

from workflows.domain.value import Value


class FetchRequest(Value):
    """`limit`: bytes, after decompression. `seconds`: for all of it. `named`: hosts, with their ports, that may be
    private, as a person has named them. `etag`, `modified`: of a copy that is there already. `accept`: the header.
    `secrets`: more headers, and `body`: of a POST; with these, no redirection is followed."""

    url: str
    limit: int
    seconds: float
    named: frozenset[str] = frozenset()
    https_only: bool = False
    etag: str | None = None
    modified: str | None = None
    accept: str = "*/*"
    secrets: dict[str, SecretStr] = {}
    body: bytes | None = None


class Fetched(Value):
    """`content` is None: the copy is as it was. `charset`: as the server calls it."""

    url: str
    media_type: str
    content: bytes | None
    charset: str | None = None
    etag: str | None = None
    modified: str | None = None
