"""The sandbox that workflows run in: the engine's own, without its detour for each value that crosses."""

from typing import Any

from temporalio.converter import SerializationContext, StorageDriverStoreContext
from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner
from temporalio.workflow import Info


class Sandbox(SandboxedWorkflowRunner):
    """Runs workflows in the engine's sandbox."""

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        return _Instance(super().create_instance(det))


class _Instance(WorkflowInstance):
    """A workflow in the sandbox that is not asked for whom a value is converted.

    The engine asks three times for each value on its way in and again on its way out, and compiles and enters the
    sandbox for each answer: a tenth of a worker's time. Our converter converts alike for all, and stores nothing
    elsewhere, so the answer is never looked at.
    """

    def __init__(self, inside: WorkflowInstance) -> None:
        self._inside = inside
        self._stored_for = StorageDriverStoreContext(target=None)

    def activate(self, act: Any) -> Any:
        return self._inside.activate(act)

    def get_serialization_context(self, command_info: Any) -> SerializationContext | None:
        return None

    def get_external_store_context(self, command_info: Any) -> StorageDriverStoreContext:
        return self._stored_for

    def get_info(self) -> Info:
        return self._inside.get_info()

    def get_thread_id(self) -> int | None:
        return self._inside.get_thread_id()
