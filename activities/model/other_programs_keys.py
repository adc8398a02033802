"""Keys and sign-ins that other programs have stored: found and named, and copied only where a person asks for it."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr

from activities.model.addresses import without_login
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
_OF_A_CONFIGURATION: Final = "it is no key of a model; the configuration there is fetched without it"
_OF_A_GATEWAY: Final = (
    "it is for a gateway: give that one's address as provider.anthropic.options.baseURL, and the token as "
    'provider.anthropic.options.headers.Authorization ("Bearer {env:NAME}")'
)
_OF_A_PROGRAM: Final = "a program makes it, which is not run: pipe what it prints into `holdfast auth login anthropic`"


class ForeignKey(Value):
    """What another program has stored for a provider, or for the server at an address; `kind`: what, if it is no `key`.

    `why`: it is not used, but for the reasons of sign-ins.
    """

    provider: str
    program: str
    key: SecretStr | None = None
    kind: str = "a sign-in by browser"
    why: str | None = None

    @property
    def reason(self) -> str:
        """Why this is not used, if it is no key."""
        return self.why or SIGN_INS.get(self.provider, _OTHER_SIGN_IN)


def check_has_keys(provider: str) -> None:
    """Raises UsageError for one that has nothing but a sign-in by browser."""
    if provider in BY_SIGN_IN:
        raise UsageError(f"{provider!r} has no keys: {SIGN_INS[provider]}.")


def find_foreign_keys(environment: Mapping[str, str]) -> tuple[ForeignKey, ...]:
    """The keys in the files of OpenCode and Claude Code. Unreadable files count as empty."""
    home = Path(environment.get("HOME") or Path.home())
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    claude = environment.get("CLAUDE_CONFIG_DIR")
    folder = Path(claude or home / ".claude")
    found = [*_of_opencode(_read(data / "opencode" / "auth.json"))]
    found += _of_claude_settings(_read(folder / "settings.json"))
    match _read(Path(claude or home) / ".claude.json"):
        case {"primaryApiKey": str(key)} if key.strip() and not any(each.key for each in found if _is_claudes(each)):
            found.append(_of_claude(key=SecretStr(key.strip())))  # of its sign-in at Anthropic's console
    if "claudeAiOauth" in _read(folder / ".credentials.json"):
        found.append(_of_claude())
    return tuple(found)


def _of_claude(**what: Any) -> ForeignKey:
    return ForeignKey(provider="anthropic", program=CLAUDE_CODE, **what)


def _is_claudes(found: ForeignKey) -> bool:
    return found.program == CLAUDE_CODE


def _of_claude_settings(settings: Mapping[str, Any]) -> Iterator[ForeignKey]:
    """https://code.claude.com/docs/en/settings: variables that it sets, and a program that prints a key."""
    written = settings.get("env")
    variables = written if isinstance(written, dict) else {}
    match variables:
        case {"ANTHROPIC_API_KEY": str(), "ANTHROPIC_BASE_URL": str(address)} if address.strip():
            where = f"it is for {_shown(address)}: give that as provider.anthropic.options.baseURL, then log in"
            yield _of_claude(kind="a key of a gateway", why=where)
        case {"ANTHROPIC_API_KEY": str(key)} if key.strip():
            yield _of_claude(key=SecretStr(key.strip()))
    if variables.get("ANTHROPIC_AUTH_TOKEN"):
        yield _of_claude(kind="a token (ANTHROPIC_AUTH_TOKEN)", why=_OF_A_GATEWAY)
    if settings.get("apiKeyHelper"):
        yield _of_claude(kind="a program for keys (apiKeyHelper)", why=_OF_A_PROGRAM)


def _of_opencode(entries: Mapping[str, Any]) -> Iterator[ForeignKey]:
    """https://opencode.ai/docs/cli#auth: entries of the types `api`, `oauth` and `wellknown`."""
    for provider, entry in sorted(entries.items()):
        match entry:
            case {"type": "api", "key": str(key)} if key.strip():
                yield ForeignKey(provider=provider, program=OPENCODE, key=SecretStr(key.strip()))
            case {"type": "oauth"}:
                yield ForeignKey(provider=provider, program=OPENCODE)
            case {"type": "wellknown"}:  # by the address of the server
                yield ForeignKey(provider=_shown(provider), program=OPENCODE, kind="a token", why=_OF_A_CONFIGURATION)


def _shown(address: str) -> str:
    try:
        return without_login(address.strip())
    except ValueError:
        return "an address that cannot be read"


def _read(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file:
            entries = json.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return entries if isinstance(entries, dict) else {}
