"""A session's slug: two words that its id always gives, as OpenCode's sessions have one for addresses."""

from hashlib import sha256
from typing import Final

from workflows.domain.ids import SessionId

_FIRST: Final = "amber autumn bold bright calm candid clear copper coral crisp early eager fleet gentle glad golden"
_SECOND: Final = "anchor badger beacon birch brook canyon cedar comet cove delta falcon fjord garden harbor island"


def session_slug(session: SessionId) -> str:
    digest, words = sha256(session.encode()).digest(), (_FIRST.split(), _SECOND.split())
    return "-".join(each[byte % len(each)] for each, byte in zip(words, digest, strict=False))
