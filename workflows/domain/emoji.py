"""Emoji: where a zero-width joiner is legitimate and hides nothing."""

from typing import Final

# Arrows, symbols, pictographs and skin tones that joined emoji consist of; U+FE0F asks for colour.
_PART: Final = "[\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\U0001f300-\U0001faff]"
EMOJI_JOINER: Final = f"(?:(?<={_PART})|(?<={_PART}\ufe0f))\u200d(?={_PART})"  # a pattern, which few texts need
