"""How many words name a command; an "always" saves those (opencode.md 3.3)."""

from collections.abc import Sequence
from typing import Final

_TWO: Final = """bazel brew bun cargo cdk cf cmake composer consul crictl deno docker eksctl firebase flyctl git go
    gradle helm heroku hugo ip kind kubectl kustomize make mc minikube mongosh mysql mvn ng npm nvm nx openssl pip
    pipenv pnpm poetry podman psql pulumi pyenv python rake rbenv redis-cli rustup serverless skaffold sls sst swift
    systemctl terraform tmux turbo ufw vault vercel volta wp yarn"""
_THREE: Final = "aws az doctl gcloud gh sfdx"
_THREE_WITH: Final = {
    "bun": "run x",
    "cargo": "add run",
    "consul": "kv",
    "deno": "task",
    "docker": "builder compose container image network volume",
    "eksctl": "create",
    "git": "config remote stash",
    "ip": "addr link netns route",
    "kind": "create",
    "kubectl": "kustomize rollout",
    "mc": "admin",
    "npm": "exec init run view",
    "openssl": "req x509",
    "pnpm": "dlx exec run",
    "podman": "container image",
    "pulumi": "stack",
    "terraform": "workspace",
    "vault": "auth kv",
    "yarn": "dlx run",
}
_ARITY: Final[dict[tuple[str, ...], int]] = {
    **{(name,): 2 for name in _TWO.split()},
    **{(name,): 3 for name in _THREE.split()},
    **{(name, second): 3 for name, words in _THREE_WITH.items() for second in words.split()},
}


def command_prefix(words: Sequence[str]) -> tuple[str, ...]:
    """The words that name a command. Options count as words; an unknown program is named by one."""
    length = _ARITY.get(tuple(words[:2])) or _ARITY.get(tuple(words[:1])) or 1
    return tuple(words[:length])
