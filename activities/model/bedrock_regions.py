"""Bedrock's addresses, and the names of models there: many answer only to the inference profile of a region."""

import re
from typing import Final

from workflows.domain.errors import UsageError

BEDROCK: Final = "bedrock"  # litellm's name of the provider
DEFAULT_REGION: Final = "us-east-1"  # OpenCode's
_REGION: Final = re.compile(r"[a-z]{2,}(-[a-z0-9]+)+")  # it becomes a part of the host that gets the conversation
# the beginnings of names that are profiles already
_PROFILES: Final = re.compile(r"arn:|(us|us-gov|eu|apac|jp|au|ca|in|global)\.")
# region → models that are named with a prefix there, and the prefix; the first that fits. As in OpenCode, but of
# DeepSeek's models only R1, as AWS lists the profiles: the others answer by their own names
_PREFIXES: Final = (
    (r"us-(?!gov)", r"nova-(micro|lite|pro|premier|2)|claude|deepseek\.r1", "us"),
    (r"eu-(west-[123]|north-1|central-1|south-[12])", r"claude|nova-(lite|micro)|llama3|pixtral", "eu"),
    (r"ap-southeast-[24]", r"anthropic\.claude-(sonnet-4-5|haiku)", "au"),
    (r"ap-northeast-1", r"claude|nova-(lite|micro|pro)", "jp"),
    (r"ap-", r"claude|nova-(lite|micro|pro)", "apac"),
)


def check_region(region: str) -> str:
    """The region without blanks around it. Raises UsageError for what can be no region's name."""
    region = region.strip()
    if not _REGION.fullmatch(region):
        raise UsageError(
            f"{region!r} is not an AWS region: write one such as us-east-1 (provider.amazon-bedrock.options.region, "
            "AWS_REGION, or region in AWS's files)."
        )
    return region


def regional_name(model: str, region: str) -> str:
    """A model's name in a region."""
    if _PROFILES.match(model):
        return model
    for regions, models, prefix in _PREFIXES:
        if re.match(regions, region) and re.search(models, model):
            return f"{prefix}.{model}"
    return model


def regional_address(region: str) -> str:
    return f"https://bedrock-runtime.{region}.amazonaws.com"
