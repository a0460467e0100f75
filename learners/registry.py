"""Learners and tasks by name, ours and others': the entry points of `dse.learners` and `dse.tasks`.

A learner is a frozen dataclass of settings that can `begin` (Algorithm of learners.training). It may declare
`arms`, a class variable: ways of computing the same, settings by name, to be set beside each other. A task is
a function that makes an environment for so many agents.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, get_type_hints

from dse.support.errors import InputError, unknown
from dse.support.plugins import entry_named, installed, load_entry, names_of
from dse.support.schema import typed
from learners.aliases import current_settings

if TYPE_CHECKING:
    from pettingzoo import ParallelEnv

    from learners.training import Algorithm

LEARNERS, TASKS = "dse.learners", "dse.tasks"
"""The entry-point groups."""

DEFAULT_TASK = "simple_tag"


def learners() -> tuple[str, ...]:
    """The names of all installed learners."""
    return names_of(installed(LEARNERS))


def tasks() -> tuple[str, ...]:
    """The names of all installed tasks."""
    return names_of(installed(TASKS))


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
            raise unknown("key", key, names, where)
    found: Algorithm = made(
        **{key: typed(value, hints[key], f"{where}: {key}") for key, value in settings.items()}
    )
    return found


def task(name: str) -> Callable[[int], ParallelEnv]:
    """The task of that name: it makes an environment for so many agents."""
    entry = entry_named(name, installed(TASKS), "task", "the installed tasks")
    made: Callable[[int], ParallelEnv] = load_entry(entry, "task")[0]
    return made


def _learner(name: str) -> type[Any]:
    entry = entry_named(name, installed(LEARNERS), "learner", "the installed learners")
    made, origin = load_entry(entry, "learner")
    if not (
        dataclasses.is_dataclass(made) and isinstance(made, type) and callable(getattr(made, "begin", 0))
    ):
        raise InputError(f"{origin} must be a dataclass of settings with a method begin(team, rng, phases)")
    return made
