"""Tags of reminders: only Holdfast's own reach a model as they are. In any other text their `<` is sent as `&lt;`."""

import re
from typing import Final

_NAME: Final = r"(?=[\s/]{0,9}system-reminder\b)"  # any number of blanks would take minutes where there are many
_TAG: Final = re.compile("<" + _NAME, re.IGNORECASE)
_ESCAPED: Final = re.compile("&lt;" + _NAME, re.IGNORECASE)


def escape_reminders(text: str) -> str:
    """What models are sent of a text that is not ours: always the same, for the provider's cache."""
    return _TAG.sub("&lt;", text)


def unescape_reminders(text: str, file: str = "") -> str:
    """A model's text for a file as it means it. Where the `file` itself has such a `&lt;`, it may mean that."""
    return text if _ESCAPED.search(file) else _ESCAPED.sub("<", text)
