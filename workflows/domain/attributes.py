"""The search attributes of our workflows, all of type Keyword."""

from typing import Final

SESSION: Final = "HoldfastSession"
DIRECTORY: Final = "HoldfastDirectory"
AGENT: Final = "HoldfastAgent"
KEYWORDS: Final = (SESSION, DIRECTORY, AGENT)
