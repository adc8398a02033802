"""Checks and normalises the addresses that people type, or copy from a provider's page."""

import re
from typing import Final
from urllib.parse import urlsplit

from workflows.domain.errors import UsageError

_CHAT: Final = r"/chat/completions"
_ENDINGS: Final = {  # protocol → possible endings after the address with which its wire begins; all others: _CHAT
    "openai": rf"{_CHAT}|/responses",
    "anthropic": r"(/v1)?/messages|/v1",
    "gemini": r"/openai|/models(/[^/]+)?",
    "azure": rf"/openai(/v1)?({_CHAT}|/responses)?|/openai/deployments/[^/]+({_CHAT})?",
    "ollama": r"/api(/chat)?|/v1(/chat/completions)?",
    "ollama_chat": r"/api(/chat)?|/v1(/chat/completions)?",
}
_VERSION: Final = re.compile(r"/v\d[^/]*$")


def check_address(field: str, address: str) -> str:
    """Strip surrounding blanks. Raises UsageError for an invalid address, without quoting it."""
    address = address.strip()
    try:
        parts = urlsplit(address)
        fine = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and len(address.split()) == 1
    except ValueError:
        fine = False
    if not fine:
        form = "https://host/path or http://host:port/path"
        raise UsageError(f"{field} is not an address: write it as {form}. Nothing was sent.")
    return address


def normalise_address(protocol: str, address: str) -> str:
    """The address without what the protocol's wire adds. Azure's pages show addresses with a query."""
    path, query, parameters = address.partition("?") if protocol == "azure" else (address, "", "")
    bare = re.sub(rf"({_ENDINGS.get(protocol, _CHAT)})$", "", path.rstrip("/")) + query + parameters
    return f"{bare}/v1beta" if protocol == "gemini" and not _VERSION.search(bare) else bare


def is_openai(address: str | None) -> bool:
    """Whether it is one of OpenAI's own hosts: those of regions have names of their own."""
    try:
        return f".{urlsplit(address or '').hostname}".endswith(".openai.com")
    except ValueError:  # its wire names what is wrong with it
        return False


def append_path(address: str, path: str) -> str:
    """The path goes before a query."""
    base, query, parameters = address.partition("?")
    return f"{base}{path}{query}{parameters}"


def without_login(address: str) -> str:
    """For people."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
