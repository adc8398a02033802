"""WebAddress: an address on the net, parsed once (security.md 7.1): what is fetched and matched is built from it."""

import ipaddress
import re
from collections.abc import Collection, Iterable
from typing import Final
from urllib.parse import urlsplit

from activities.web.reach import Reach, reach_of
from workflows.domain.errors import FetchError
from workflows.domain.value import Value

_PORTS: Final = {"http": 80, "https": 443}
_FORM: Final = re.compile(r"(https?)://([^/?#]+)(/[^?#]*)?(\?[^#]*)?(?:#.*)?", re.IGNORECASE)
_AUTHORITY: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]+)(?::([1-9]\d{0,4}))?")
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"\d+|0x[0-9a-f]*")
_UNSAFE: Final = re.compile(r"[\0-\x20\x7f-\xa0\\\u2028\u2029]")
_METADATA: Final = frozenset(
    {"metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"}
)
_OUR_PORTS: Final = frozenset({5432, 7233, 8233})  # PostgreSQL, Temporal: a request could signal a session
_MAX_CHARS: Final = 8192
_LOCAL: Final = ("localhost", "localdomain", "local", "internal", "svc", "cluster.local", "home.arpa")


class WebAddress(Value):
    """`host`: in lower case, an IPv6 address without brackets. `path` has the query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Host and port, as in a header `Host`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def is_local_name(self) -> bool:
        """A name that only leads to machines nearby."""
        return not self.is_ip and ("." not in self.host or any(f".{self.host}".endswith(f".{each}") for each in _LOCAL))

    @property
    def is_metadata_name(self) -> bool:
        return self.host in _METADATA

    @property
    def is_ip(self) -> bool:
        return ":" in self.host or self.host.replace(".", "").isdigit()

    def is_same_host(self, other: "WebAddress") -> bool:
        """The same server: by the same port, or the usual ones of http and https."""
        return self.host == other.host and (self.port == other.port or {self.port, other.port} == {*_PORTS.values()})

    def check(self, named: Collection[str], ips: Iterable[str] = ()) -> None:
        """The host by its name, and the addresses that it leads to. Raises FetchError for one that is not public, nor a
        private one that a person has `named`, with its port."""
        own = self.authority in named
        if self.is_metadata_name or (self.is_local_name and not own):
            raise FetchError(f"{self.host} is no public host")
        for ip in [self.host] if self.is_ip else ips:
            reach = reach_of(ip)
            if reach is Reach.FORBIDDEN or (reach is Reach.PRIVATE and (not own or self.port in _OUR_PORTS)):
                led = "is" if self.is_ip else f"leads to {ip}, which is"
                raise FetchError(f"{self.host} {led} no public address")


def parse_address(text: str) -> WebAddress:
    """Raises FetchError for all that another program could read as another address."""
    if len(text) > _MAX_CHARS:
        raise FetchError(f"it has more than {_MAX_CHARS:,} characters")
    if _UNSAFE.search(text):
        raise FetchError("it holds blanks, backslashes or characters that cannot be seen")
    form = _FORM.fullmatch(text)
    if form is None:
        raise FetchError("it is no address: write http://HOST/PATH or https://HOST/PATH")
    scheme, authority = form[1].lower(), form[2]
    if "@" in authority:
        raise FetchError("it holds a user's name or a password")
    parts = _AUTHORITY.fullmatch(authority)
    port = int(parts[2]) if parts and parts[2] else _PORTS[scheme]
    if parts is None or port > 65535:
        raise FetchError("its host or port is none")
    host = _ipv6(parts[1]) if parts[1].startswith("[") else _name(parts[1])
    address = WebAddress(scheme=scheme, host=host, port=port, path=(form[3] or "/") + (form[4] or ""))
    if urlsplit(address.url).hostname != host or not address.path.isascii():
        raise FetchError("it can be read in two ways: write it in ASCII, the rest as %XX")
    return address


def _ipv6(written: str) -> str:
    try:
        return str(ipaddress.IPv6Address(written[1:-1]))
    except ValueError:
        raise FetchError("there is no IPv6 address between its brackets") from None


def _name(written: str) -> str:
    if not written.isascii():
        raise FetchError("its host has letters beyond ASCII: write it in the form that begins with xn--")
    host = written.lower().removesuffix(".")
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise FetchError("its host is no name")
    if not _NUMBER.fullmatch(labels[-1]):
        return host
    try:
        return str(ipaddress.IPv4Address(host))  # other forms than a.b.c.d lead to other machines elsewhere
    except ValueError:
        raise FetchError("its host is a number, but no address of the form 192.0.2.1") from None
