"""The cells of the table that are not simply shown: not possible there, or by a rule that is only believed."""

from typing import Final

_NO_REASONING: Final = "Chat completions show no reasoning, and take none."
_NO_WINDOW: Final = "A full window is refused before the answer begins, or ends it as the limit of the output."
_UNKNOWN_MEMBER: Final = "That a member of a message which OpenAI's types lack is refused is believed, not tried."
_NO_402: Final = "OpenAI answers 429 with the code `insufficient_quota`."
_GROQ_DOCUMENTS: Final = "Groq's types have pictures, and no documents."
_MISTRAL_REFUSES: Final = "Mistral's models refuse in words."
_NOT_BY_LITELLM: Final = "What a model thought does not go back by litellm."
_NO_DOCUMENTS: Final = "Ollama takes pictures, and no documents."

REASONS: Final = {
    ("OpenAI chat", "reasoning, and its return unchanged"): _NO_REASONING,
    ("OpenAI chat", "reasoning between calls"): _NO_REASONING,
    ("Gemini", "a refusal"): "Gemini refuses by its content filter, or in words.",
    ("Anthropic", "a content filter"): "Anthropic names a filtered answer a refusal.",
    ("Gemini", "a full context window in the answer"): _NO_WINDOW,
    ("OpenAI chat", "a full context window in the answer"): _NO_WINDOW,
    ("Gemini", "402: no credit"): "Google answers 429, as for a quota.",
    ("OpenAI Responses", "402: no credit"): _NO_402,
    ("OpenAI chat", "402: no credit"): _NO_402,
    ("Azure Responses", "402: no credit"): "Azure sends a bill.",
    ("Azure chat", "402: no credit"): "Azure sends a bill.",
    ("Azure chat", "reasoning, and its return unchanged"): _NO_REASONING,
    ("Azure chat", "reasoning between calls"): _NO_REASONING,
    ("Azure chat", "a full context window in the answer"): _NO_WINDOW,
    ("OpenRouter", "429: the quota is used up"): "OpenRouter answers 402, or 403 for the limit of a key.",
    ("strict compatible", "a PDF in a prompt"): _GROQ_DOCUMENTS,
    ("strict compatible", "a PDF in a result"): _GROQ_DOCUMENTS,
    ("strict compatible", "a refusal"): "Its models refuse in words.",
    ("strict compatible", "a full context window in the answer"): _NO_WINDOW,
    ("strict compatible", "402: no credit"): "Groq answers 429, as for a quota.",
    ("Mistral", "a refusal"): _MISTRAL_REFUSES,
    ("Mistral", "a content filter"): _MISTRAL_REFUSES,
    ("Mistral", "a full context window in the answer"): _NO_WINDOW,
    ("Mistral", "429: the quota is used up"): "Mistral answers as for too many requests.",
    ("Bedrock", "a refusal"): "Bedrock names a refused answer a filtered one.",
    ("Bedrock", "402: no credit"): "AWS bills afterwards.",
    ("Ollama", "a PDF in a prompt"): _NO_DOCUMENTS,
    ("Ollama", "a PDF in a result"): _NO_DOCUMENTS,
    ("Ollama", "a refusal"): "Models with Ollama refuse in words.",
    ("Ollama", "a content filter"): "Ollama has none.",
    ("Ollama", "a full context window in the answer"): _NO_WINDOW,
    ("Ollama", "a malformed call"): "Ollama reads calls itself: what is none, comes as text or as an error.",
    ("Ollama", "402: no credit"): "Ollama answers 429, as for a quota.",
    ("Ollama", "408: a timeout"): "Ollama waits as long as its client does.",
    ("Ollama", "413: too large"): "Ollama has no such limit.",
    ("Ollama", "silence with signs of life"): "Ollama sends none: what a model thinks comes piece by piece.",
    ("by litellm", "reasoning, and its return unchanged"): _NOT_BY_LITELLM,
    ("by litellm", "reasoning between calls"): _NOT_BY_LITELLM,
    ("by litellm", "a refusal"): "litellm leaves its words out: it counts as an empty answer.",
    ("by litellm", "a full context window in the answer"): "litellm makes a plain end of it.",
}
BELIEVED: Final = {
    **dict.fromkeys(
        (("Mistral", row) for row in ("402: no credit", "404: no such model", "408: a timeout", "413: too large")),
        "Mistral publishes no body for it.",
    ),
    ("Mistral", "reasoning between calls"): "Mistral has all calls of an answer behind its chunks.",
    ("Mistral", "text"): "Cached tokens are read by OpenAI's name, for which Mistral's package has no type.",
    (
        "Mistral",
        "429: every form of a hint when to come back",
    ): "Mistral's pages name no hint; `retry-after` is believed.",
    ("OpenRouter", "reasoning, and its return unchanged"): (
        "That pieces of one thought are refused unless they are put together is reported, not tried."
    ),
    ("Bedrock", "reasoning between calls"): (
        "Claude thinks between calls there with Anthropic's beta for it (`anthropicBeta`); believed, not tried."
    ),
    ("Bedrock", "a PDF in a result"): ("That two documents may not have one name is what people report, not AWS."),
    ("Bedrock", "401: a wrong key"): "AWS answers 403.",
    ("Bedrock", "silence with signs of life"): "AWS names none: an empty piece of text stands for one.",
    ("Ollama", "reasoning between calls"): "Ollama has one thought before all calls of an answer.",
    ("Ollama", "429: every form of a hint when to come back"): (
        "Ollama gives no hint; that a proxy before it sends `retry-after` is believed."
    ),
    ("OpenAI chat", "a turn that a model of each other wire began"): _UNKNOWN_MEMBER,
    ("Azure chat", "a turn that a model of each other wire began"): _UNKNOWN_MEMBER,
    ("Gemini", "a turn that a model of each other wire began"): (
        "By Google's word for calls of other models, `skip_thought_signature_validator`; believed, not tried."
    ),
    ("Gemini", "reasoning between calls"): (
        "That an empty text with a signature is taken back behind a text is believed, not tried."
    ),
}
