"""What `holdfast doctor` checks: the stack, and whether the chosen model has a key."""

from activities.model.keys import Keys, find_key
from activities.model.providers import must_be_known, parted, provider_named
from activities.project.references import resolve
from worker.cli import project
from worker.cli.current import current_directory
from worker.handover import HandedOver
from worker.settings import Settings
from worker.stack.doctor import Finding, Level, examine
from worker.survey import survey
from workflows.domain.config.config import Provider
from workflows.domain.config.snapshot import ProjectSnapshot
from workflows.domain.errors import HoldfastError

_CHECK = "model key"


async def examined(settings: Settings) -> list[Finding]:
    """All findings, those of the stack first; it knows the providers only, here the model of the directory is known.

    Raises UsageError where there is no directory.
    """
    directory = current_directory()
    here = [each for each in await examine(settings) if each.check != _CHECK]
    try:
        snapshot = await survey(settings, directory)
        remarks = [*project.remarks(settings, snapshot)]
    except HoldfastError as error:
        remedy = "Correct it there, then try again: no task begins in this directory until then."
        return [*here, Finding(check="configuration", level=Level.FAILURE, says=str(error), remedy=remedy)]
    read = Finding(check="configuration", level=Level.OK, says="the files of this directory and yours can be used")
    warnings = (Finding(check="configuration", level=Level.WARNING, says=remark) for remark in remarks)
    return [*here, read, *warnings, await _model_key(settings, snapshot)]


async def _model_key(settings: Settings, snapshot: ProjectSnapshot) -> Finding:
    try:
        model = await resolve(project.chosen_model(settings, snapshot, None), HandedOver(settings))
        id, _ = parted(model)
        must_be_known(id, snapshot.config.provider)
        return await _key(settings, model, snapshot.config.provider.get(id) or Provider())
    except HoldfastError as error:
        named = snapshot.agent.model or snapshot.config.model  # without one, it may be named with each task
        return Finding(check=_CHECK, level=Level.FAILURE if named else Level.WARNING, says=str(error))


async def _key(settings: Settings, model: str, configured: Provider) -> Finding:
    """As the worker looks for it: in the configuration, the file of `auth login`, the variables of the provider."""
    provider = provider_named(model.partition("/")[0])
    environment = HandedOver(settings)
    written = await resolve(configured.options.api_key or "", environment)
    if find_key(provider, written or None, Keys(settings.auth), environment) is not None:
        return Finding(check=_CHECK, level=Level.OK, says=f"there is one for {model}")
    if not provider.needs_key or configured.options.base_url:
        return Finding(check=_CHECK, level=Level.OK, says=f"{model} needs none")
    return Finding(
        check=_CHECK,
        level=Level.FAILURE,
        says=f"there is none for {model}",
        remedy=f"Set {provider.variables[0]}, or run `holdfast auth login {provider.id}`.",
    )
