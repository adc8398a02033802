from workflows.domain.config.config import Config
from workflows.domain.config.turn_config import Instruction, TurnConfig
from workflows.domain.permissions.rulesets import Rulesets

SNAPSHOT = TurnConfig(directory="/p", worktree=None, config=Config(), rules=Rulesets())


def test_equal_turn_configs_have_equal_digests_also_after_json() -> None:
    assert TurnConfig.model_validate_json(SNAPSHOT.model_dump_json()).digest == SNAPSHOT.digest


def test_another_content_has_another_digest() -> None:
    changed = SNAPSHOT.model_copy(update={"instructions": (Instruction(path="/p/AGENTS.md", text="x"),)})

    assert changed.digest != SNAPSHOT.digest
