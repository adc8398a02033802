"""The SDK's workflow sandbox, without its detour per converted value."""

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
    """Skips the SDK's serialization-context lookup per payload.

    It looks three times per value, in and out, compiling and entering the sandbox each time: a tenth of a worker's
    time. Our converter ignores the context.
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
