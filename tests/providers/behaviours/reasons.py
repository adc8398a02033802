"""The cells of the table that are not simply shown: not possible there, or by a rule that is only believed."""

from typing import Final

_NO_REASONING: Final = "Chat completions show no reasoning, and take none."
_NO_WINDOW: Final = "A full window is refused before the answer begins, or ends it as the limit of the output."

REASONS: Final = {
    ("OpenAI chat", "reasoning, and its return unchanged"): _NO_REASONING,
    ("OpenAI chat", "reasoning between calls"): _NO_REASONING,
    ("Gemini", "a refusal"): "Gemini refuses by its content filter, or in words.",
    ("Anthropic", "a content filter"): "Anthropic names a filtered answer a refusal.",
    ("Gemini", "a full context window in the answer"): _NO_WINDOW,
    ("OpenAI chat", "a full context window in the answer"): _NO_WINDOW,
    ("Gemini", "402: no credit"): "Google answers 429, as for a quota.",
    ("OpenAI Responses", "402: no credit"): "OpenAI answers 429 with the code `insufficient_quota`.",
    ("OpenAI chat", "402: no credit"): "OpenAI answers 429 with the code `insufficient_quota`.",
}
BELIEVED: Final = {
    ("OpenAI chat", "a turn that a model of each other wire began"): (
        "That a member of a message which OpenAI's types lack is refused is believed, not tried."
    ),
    ("Gemini", "a turn that a model of each other wire began"): (
        "By Google's word for calls of other models, `skip_thought_signature_validator`; believed, not tried."
    ),
    ("Gemini", "reasoning between calls"): (
        "That an empty text with a signature is taken back behind a text is believed, not tried."
    ),
}
