"""litellm's environment."""

import subprocess
import sys

from activities.model.wires.litellm.litellm_names import SWITCHES, isolate

_IMPORT = """
import os
from activities.model.wires.litellm.litellm_names import isolate
isolate(os.environ)
before = set(os.environ)
import litellm, openai.resources.chat
isolate(os.environ)
print(*(set(os.environ) - before))
"""


def test_keys_and_addresses_of_providers_are_taken_away() -> None:
    names = ("OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "GEMINI_API_BASE", "HF_TOKEN", "OPENAI_ORGANIZATION", "LITELLM_X")
    environment = dict.fromkeys(names, "x")

    isolate(environment)

    assert environment == SWITCHES


def test_what_others_need_is_left_alone() -> None:
    names = ("PATH", "HTTPS_PROXY", "AWS_SECRET_ACCESS_KEY", "TEMPORAL_API_KEY", "HOLDFAST_HOME")
    environment = dict.fromkeys(names, "x")

    isolate(environment)

    assert environment == {**dict.fromkeys(names, "x"), **SWITCHES}


def test_after_it_the_import_adds_no_name_that_would_move_the_environment_under_other_threads() -> None:
    added = subprocess.run([sys.executable, "-P", "-c", _IMPORT], capture_output=True, text=True, check=True)

    assert added.stdout.split() == []
