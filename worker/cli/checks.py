"""What `holdfast doctor` checks: the stack, whether the chosen model has a key, and whether it answers."""

from activities.model.keys import Keys, find_key
from activities.model.providers import must_be_known, parted, provider_named
from activities.project.references import resolve
from worker.cli import door, project
from worker.cli.current import current_directory
from worker.cli.look.text import exact
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


async def answering(settings: Settings, named: str | None) -> Finding:
    """Whether a model answers: the named one, or that which a run would take here. One request is made.

    Raises UsageError for one that is not chosen, or cannot be asked at all.
    """
    from worker.probe import probe  # what asks models takes seconds to load

    snapshot = await survey(settings, current_directory())
    model = await resolve(project.chosen_model(settings, snapshot, named), HandedOver(settings))
    must_be_known(parted(model)[0], snapshot.config.provider)
    door.say(f"Asking {exact(model)} for a word.")
    probed = await probe(settings, model, snapshot.config)
    level = Level.OK if probed.answered else Level.FAILURE
    return Finding(check="model", level=level, says=probed.says, remedy=probed.remedy)


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
    written = configured.options.api_key
    found = find_key(provider, await resolve(written or "", environment), Keys(settings.auth), environment)
    if found is not None:
        return Finding(check=_CHECK, level=Level.OK, says=f"there is one for {model}; `doctor --model` tries it")
    if written is not None:
        says = f"that of {model} is empty: provider.{provider.id}.options.apiKey is {written!r}"
        return Finding(check=_CHECK, level=Level.FAILURE, says=says, remedy="Set it, or take the field away.")
    if not provider.needs_key or configured.options.base_url:
        return Finding(check=_CHECK, level=Level.OK, says=f"{model} needs none")
    return Finding(
        check=_CHECK,
        level=Level.FAILURE,
        says=f"there is none for {model}",
        remedy=f"Set {provider.variables[0]}, or run `holdfast auth login {provider.id}`.",
    )
