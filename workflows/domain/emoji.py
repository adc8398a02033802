"""Emoji: where a zero-width joiner is part of one, and hides nothing."""

import re
from typing import Final

# The arrows, symbols and pictographs that joined emoji are made of; a skin tone is among them, U+FE0F asks for colour.
_PART: Final = "[\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\U0001f300-\U0001faff]"
JOINER: Final = re.compile(f"(?:(?<={_PART})|(?<={_PART}\ufe0f))\u200d(?={_PART})")
