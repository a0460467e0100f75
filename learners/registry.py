"""Learners and tasks by name, ours and others': the entry points of `dse.learners` and `dse.tasks`.

A learner is a frozen dataclass of settings that can `begin` (Algorithm of learners.training). It may declare
`arms`, a class variable: ways of computing the same, settings by name, to be set beside each other. A task is
a function that makes an environment for so many agents.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, get_type_hints

from learners.aliases import current_settings
from learners.errors import InputError, unknown_name
from learners.plain_data import value_as_type

if TYPE_CHECKING:
    from pettingzoo import ParallelEnv

    from learners.training import Algorithm

LEARNERS, TASKS = "dse.learners", "dse.tasks"
"""The entry-point groups."""

DEFAULT_TASK = "simple_tag"


def learner_names() -> tuple[str, ...]:
    """The names of all installed learners."""
    return _names(LEARNERS)


def task_names() -> tuple[str, ...]:
    """The names of all installed tasks."""
    return _names(TASKS)


def arms_of(name: str) -> dict[str, dict[str, Any]]:
    """The ways of computing that a learner declares; one, its defaults, where it declares none."""
    declared: Mapping[str, Mapping[str, Any]] = getattr(_learner(name), "arms", {})
    return {arm: dict(settings) for arm, settings in declared.items()} or {"defaults": {}}


def make_learner(name: str, settings: Mapping[str, Any] | None = None) -> Algorithm:
    """The learner of that name, with settings by its fields' names, now or before. InputError if wrong."""
    made, where = _learner(name), f"learner {name!r}"
    hints = get_type_hints(made)
    settings = current_settings(settings or {}, getattr(made, "aliases", {}), where)
    names = [item.name for item in dataclasses.fields(made) if item.init]
    for key in settings:
        if key not in names:
            raise unknown_name("key", key, names, where)
    found: Algorithm = made(
        **{key: value_as_type(value, hints[key], f"{where}: {key}") for key, value in settings.items()}
    )
    return found


def load_task(name: str) -> Callable[[int], ParallelEnv]:
    """The task of that name: it makes an environment for so many agents."""
    made: Callable[[int], ParallelEnv] = _loaded(name, TASKS, "task")[0]
    return made


def _learner(name: str) -> type[Any]:
    made, origin = _loaded(name, LEARNERS, "learner")
    if not (
        dataclasses.is_dataclass(made) and isinstance(made, type) and callable(getattr(made, "begin", 0))
    ):
        raise InputError(f"{origin} must be a dataclass of settings with a method begin(team, rng, phases)")
    return made


def _names(group: str) -> tuple[str, ...]:
    return tuple(sorted({entry.name for entry in entry_points(group=group)}))


def _loaded(name: str, group: str, kind: str) -> tuple[Any, str]:
    """What the entry of that name stands for, and in words where it is from."""
    found = {entry.value: entry for entry in entry_points(group=group, name=name)}
    if not found:
        raise unknown_name(kind, name, _names(group), f"the installed {kind}s")
    if len(found) > 1:
        offers = " and ".join(sorted(found))
        raise InputError(f"{kind} {name!r} is offered as {offers}; uninstall all but one")
    ((value, entry),) = found.items()
    origin = f"{kind} {name!r} (entry point {value!r})"
    try:
        return entry.load(), origin
    except Exception as error:
        said = " ".join(str(error).split())
        raise InputError(f"{origin} cannot be loaded: {type(error).__name__}: {said}") from error
