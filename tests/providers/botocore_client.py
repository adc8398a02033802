"""AWS's own client, to check the double of Bedrock."""

from collections.abc import Sequence
from contextlib import closing
from typing import Any, Final

from botocore.config import Config
from botocore.session import Session

from tests.providers.bedrock_converse import ACCESS_KEY, CLAUDE, SECRET_KEY

GO: Final = [{"role": "user", "content": [{"text": "go"}]}]


def converse(url: str) -> list[dict[str, Any]]:
    """The events of an answer."""
    client = Session().create_client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        config=Config(retries={"total_max_attempts": 1}),
    )
    with closing(client) as api, closing(api.converse_stream(modelId=CLAUDE, messages=GO)["stream"]) as stream:
        return list(stream)


def joined(events: Sequence[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """The blocks of an answer, as a client puts them together."""
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        for kind in ("contentBlockStart", "contentBlockDelta"):
            if kind in event:
                data = event[kind]
                block = blocks.setdefault(data["contentBlockIndex"], {})
                for member, value in (data.get("start") or data["delta"]).items():
                    for name, text in value.items() if isinstance(value, dict) else [("text", value)]:
                        block[f"{member}.{name}"] = block.get(f"{member}.{name}", type(text)()) + text
    return blocks
