"""Keys and sign-ins that other programs have stored: found and named, and copied only where a person asks for it."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr

from workflows.domain.errors import UsageError
from workflows.domain.value import Value

OPENCODE: Final = "opencode"
CLAUDE_CODE: Final = "claude-code"
PROGRAMS: Final = {OPENCODE: "OpenCode", CLAUDE_CODE: "Claude Code"}
_MOST_BYTES: Final = 2**24  # of a file
CLAUDE_SUBSCRIPTION: Final = (
    "Anthropic allows sign-ins of Claude subscriptions (Pro, Max) in its own programs only: an API key is billed apart"
)
SIGN_INS: Final[Mapping[str, str]] = {  # provider → why its sign-in by browser is not used
    "anthropic": CLAUDE_SUBSCRIPTION,
    "openai": "the sign-in of ChatGPT subscriptions is for OpenAI's own programs: an API key is billed apart",
    "chatgpt": "the sign-in of ChatGPT subscriptions is for OpenAI's own programs: log in to 'openai' with an API key",
    "github-copilot": "GitHub lets only programs that it has an agreement with ask Copilot's models",
    "github_copilot": "GitHub lets only programs that it has an agreement with ask Copilot's models",
}
BY_SIGN_IN: Final = ("chatgpt", "github-copilot", "github_copilot")  # have nothing else
_OTHER_SIGN_IN: Final = "it belongs to the program that has signed in"


class ForeignKey(Value):
    """What another program has for a provider; without a `key` it is a sign-in by browser."""

    provider: str
    program: str
    key: SecretStr | None = None

    @property
    def reason(self) -> str:
        """Why a sign-in is not used."""
        return SIGN_INS.get(self.provider, _OTHER_SIGN_IN)


def check_has_keys(provider: str) -> None:
    """Raises UsageError for one that has nothing but a sign-in by browser."""
    if provider in BY_SIGN_IN:
        raise UsageError(f"{provider!r} has no keys: {SIGN_INS[provider]}.")


def find_foreign_keys(environment: Mapping[str, str]) -> tuple[ForeignKey, ...]:
    """In the files of OpenCode and Claude Code; what cannot be read there is none."""
    home = Path(environment.get("HOME") or Path.home())
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    claude = Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    found = [*_of_opencode(_read(data / "opencode" / "auth.json"))]
    folder = environment.get("CLAUDE_CONFIG_DIR") or home
    match _read(Path(folder) / ".claude.json"):
        case {"primaryApiKey": str(key)} if key.strip():  # of its sign-in at Anthropic's console
            found.append(ForeignKey(provider="anthropic", program=CLAUDE_CODE, key=SecretStr(key.strip())))
    if "claudeAiOauth" in _read(claude / ".credentials.json"):
        found.append(ForeignKey(provider="anthropic", program=CLAUDE_CODE))
    return tuple(found)


def _of_opencode(entries: Mapping[str, Any]) -> Iterator[ForeignKey]:
    """https://opencode.ai/docs/cli#auth: entries of the types `api`, `oauth` and `wellknown`."""
    for provider, entry in sorted(entries.items()):
        match entry:
            case {"type": "api", "key": str(key)} if key.strip():
                yield ForeignKey(provider=provider, program=OPENCODE, key=SecretStr(key.strip()))
            case {"type": "oauth"}:
                yield ForeignKey(provider=provider, program=OPENCODE)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file:
            entries = json.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return entries if isinstance(entries, dict) else {}
