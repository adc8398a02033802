"""Addresses as people write them, for OpenCode or from a provider's page, and as the wires take them."""

import re
from typing import Final

_ENDINGS: Final = {  # protocol → what may stand behind the address that its wire begins with
    "openai": r"/chat/completions|/responses",
    "anthropic": r"(/v1)?/messages|/v1",
    "azure": r"/openai(/v1)?",
    "ollama": r"/api(/chat)?",
    "ollama_chat": r"/api(/chat)?",
}
_VERSION: Final = re.compile(r"/v\d[^/]*$")


def normalised(protocol: str, address: str) -> str:
    """The address without what the wire of the protocol adds itself."""
    bare = address.rstrip("/")
    if protocol in _ENDINGS:
        return re.sub(rf"({_ENDINGS[protocol]})$", "", bare)
    return f"{bare}/v1beta" if protocol == "gemini" and not _VERSION.search(bare) else bare
