from workflows.domain.config.config import Config
from workflows.domain.config.snapshot import Instruction, ProjectSnapshot

SNAPSHOT = ProjectSnapshot(directory="/p", worktree=None, config=Config(), rules=())


def test_equal_snapshots_have_equal_digests_also_after_json() -> None:
    assert ProjectSnapshot.model_validate_json(SNAPSHOT.model_dump_json()).digest == SNAPSHOT.digest


def test_another_content_has_another_digest() -> None:
    changed = SNAPSHOT.model_copy(update={"instructions": (Instruction(path="/p/AGENTS.md", text="x"),)})

    assert changed.digest != SNAPSHOT.digest
