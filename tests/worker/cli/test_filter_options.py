"""What the options mean that choose sessions."""

from pathlib import Path
from typing import Any

import pytest

from worker.cli.filter_options import session_filter
from workflows.domain.errors import UsageError


@pytest.mark.parametrize(
    "chosen", [{"text": "\udcff"}, {"agents": ("\udcff",)}, {"below": Path("\udcff")}, {"here": True}]
)
def test_what_no_record_can_hold_is_refused_in_words(
    chosen: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "\udcff"
    directory.mkdir()
    monkeypatch.chdir(directory)
    none: dict[str, Any] = {"here": False, "project": False, "below": None, "since": None, "before": None, "agents": ()}
    with pytest.raises(UsageError, match="is no UTF-8 text"):
        session_filter(**none | chosen)
