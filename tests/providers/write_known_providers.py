"""Writes the table of providers that are reached by key: of models.dev's `api.json`, and of litellm.

    python -m tests.providers.write_known_providers FILE DATE

models.dev has OpenCode's names of providers, their addresses, and the packages that name their protocols. From litellm
come those that it asks by OpenAI's protocol, and models.dev does not have.
"""

import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from activities.model import providers
from activities.model.endpoint import Wire
from activities.model.wires.litellm.litellm_names import LITELLM_PROVIDERS, isolate

WIRES: Final = {  # packages → the protocol that they speak
    "@ai-sdk/openai-compatible": Wire.CHAT,
    "@ai-sdk/anthropic": Wire.ANTHROPIC,
    "@ai-sdk/google": Wire.GEMINI,
    "@ai-sdk/openai": Wire.RESPONSES,
}
ADDRESSES: Final = {  # packages → the address in their own source, where models.dev has none; all speak chat
    "@ai-sdk/cerebras": "https://api.cerebras.ai/v1",
    "@ai-sdk/deepinfra": "https://api.deepinfra.com/v1/openai",
    "@ai-sdk/groq": "https://api.groq.com/openai/v1",
    "@ai-sdk/mistral": "https://api.mistral.ai/v1",
    "@ai-sdk/perplexity": "https://api.perplexity.ai",
    "@ai-sdk/togetherai": "https://api.together.xyz/v1",
    "@ai-sdk/vercel": "https://api.v0.dev/v1",
    "@ai-sdk/xai": "https://api.x.ai/v1",
    "@openrouter/ai-sdk-provider": "https://openrouter.ai/api/v1",
    "@ai-sdk/gateway": "https://ai-gateway.vercel.sh/v1",  # its chat protocol, by Vercel's "OpenAI-Compatible API"
    "@aihubmix/ai-sdk-provider": "https://aihubmix.com/v1",
    "venice-ai-sdk-provider": "https://api.venice.ai/api/v1",
}
LITELLM_NAMES: Final = {  # models.dev's names → litellm's of the same company, where they differ
    "abliteration-ai": "abliteration",
    **dict.fromkeys(("alibaba", "alibaba-cn"), "dashscope"),
    "digitalocean": "gradient_ai",
    "fireworks-ai": "fireworks_ai",
    "friendli": "friendliai",
    "gmicloud": "gmi",
    "llama": "meta_llama",
    **dict.fromkeys(("minimax-cn", "minimax-coding-plan", "minimax-cn-coding-plan"), "minimax"),
    **dict.fromkeys(("moonshotai", "moonshotai-cn"), "moonshot"),
    "nova": "amazon_nova",
    "novita-ai": "novita",
    "nvidia": "nvidia_nim",
    "togetherai": "together_ai",
    "venice": "veniceai",
    "vercel": "vercel_ai_gateway",
    "xiaomi": "xiaomi_mimo",
    **dict.fromkeys(("zai-coding-plan", "zhipuai", "zhipuai-coding-plan"), "zai"),
}
# signed in by a browser or by other means than a key
_NO_KEY: Final = ("github-copilot",)
VARIABLES: Final = {  # further ones, of litellm and of other agents
    "fireworks-ai": "FIREWORKS_AI_API_KEY",
    "huggingface": "HUGGINGFACE_API_KEY",
    "nvidia": "NVIDIA_NIM_API_KEY",
    "perplexity": "PERPLEXITYAI_API_KEY",
    "togetherai": "TOGETHERAI_API_KEY",
    **dict.fromkeys(("zai", "zai-coding-plan"), "ZAI_API_KEY"),
}
RETAINED: Final = {  # as models.dev had them on 2026-07-02: names that people's files have
    "github-models": {
        "litellm": "github",
        "wire": Wire.CHAT,
        "address": "https://models.github.ai/inference",
        "variables": ["GITHUB_TOKEN"],
    },
    "kimi-for-coding": {
        "litellm": "kimi-for-coding",
        "wire": Wire.ANTHROPIC,
        "address": "https://api.kimi.com/coding/v1",
        "variables": ["KIMI_API_KEY"],
    },
}
ALIASES: Final = {"dashscope": "alibaba-cn", "fireworks": "fireworks-ai", "together": "togetherai"}
_LOCAL: Final = ("http://127.0.0.1", "http://localhost")
# litellm asks them by OpenAI's protocol, with another sign-in or other members
_NOT_PLAIN: Final = (
    *("chatgpt", "clarifai", "docker_model_runner", "gigachat", "github_copilot", "lemonade", "llamafile"),
    *("ragflow", "langgraph", "manus"),
)


def models_dev(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for id, known in sorted(json.loads(file.read_bytes()).items()):
        package = known["npm"]
        address = known.get("api") or ADDRESSES.get(package)
        wire = Wire.CHAT if package in ADDRESSES else WIRES.get(package)
        if address is None or wire is None or "$" in address or address.startswith(_LOCAL):
            continue
        if id not in _NO_KEY and id not in providers.KNOWN:
            yield (
                id,
                {
                    "litellm": LITELLM_NAMES.get(id, id),
                    "wire": wire,
                    "address": address.rstrip("/").removesuffix("/chat/completions"),
                    "variables": [*known["env"], *([VARIABLES[id]] if id in VARIABLES else [])],
                    **_models(known["models"], wire),
                },
            )


def _models(listed: dict[str, Any], usual: Wire) -> dict[str, Any]:
    """Patterns of the names that another protocol reaches than `usual`: a family's, if it reaches all of the family."""
    wires = {name: _wire(known, usual) for name, known in sorted(listed.items())}
    families: defaultdict[str, set[Wire]] = defaultdict(set)
    for name, wire in wires.items():
        families[_family(name)].add(wire)
    patterns: defaultdict[str, list[str]] = defaultdict(list)
    for name, wire in wires.items():
        pattern = f"{_family(name)}*" if len(families[_family(name)]) == 1 else name
        if wire is not usual and pattern not in patterns[wire]:
            patterns[wire].append(pattern)
    return {"models": patterns} if patterns else {}


def _wire(model: dict[str, Any], usual: Wire) -> Wire:
    """A model with an address of its own is asked as the others are, where gateways serve it, too."""
    own = model.get("provider") or {}
    return usual if "api" in own else WIRES.get(own.get("npm", ""), usual)


def _family(name: str) -> str:
    return (re.match(r"[a-z]+-?", name) or [name])[0]


def of_litellm(known: set[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    import litellm

    for id in sorted(LITELLM_PROVIDERS - known):
        plain = id in vars(litellm)["openai_compatible_providers"] and id not in _NOT_PLAIN
        address = litellm.get_llm_provider(f"{id}/model")[3] if plain else None
        if address and not address.startswith(_LOCAL):
            variables = [f"{id.upper().replace('-', '_')}_API_KEY"]
            yield id, {"litellm": id, "wire": Wire.CHAT, "address": address.rstrip("/"), "variables": variables}


def table(file: Path, date: str) -> str:
    """The file's text: one provider on each line."""
    sources = {"models.dev": f"api.json of {date}", "litellm": version("litellm")}
    found = RETAINED | dict(models_dev(file))
    found |= {alias: found[id] for alias, id in ALIASES.items()}
    found |= of_litellm(
        {
            *found,
            *(each["litellm"] for each in found.values()),
            *providers.KNOWN,
            *(each.litellm for each in providers.KNOWN.values()),
        }
    )
    lines = ",\n".join(f"{json.dumps(id)}: {json.dumps(found[id])}" for id in sorted(found))
    return f'{{"sources": {json.dumps(sources)}, "providers": {{\n{lines}\n}}}}\n'


if __name__ == "__main__":
    isolate(os.environ)
    providers.FILE.write_text(table(Path(sys.argv[1]), sys.argv[2]))
