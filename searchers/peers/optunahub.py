"""Any sampler of OptunaHub (Ozaki et al., 2025) by the name of its package, as `hebo` or `auto_sampler`.

A package is loaded as OptunaHub loads it: from GitHub, at the version `ref`, which OptunaHub keeps for the
next time; or from `registry`, a folder with packages, without a network. What a package needs beside Optuna
is in its requirements. Sizes are whole numbers, orders and names categories; `genes="floats"` is for samplers
of numbers alone. Whatever generators a sampler makes draw from the search's own seed.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from dse.core.objective import parse_objectives
from dse.support.errors import InputError, exception_text, shorten, unknown_name
from dse.support.hashing import digest
from searchers.common.own_draws import route_draws
from searchers.common.torch_apart import torch_apart
from searchers.peers.common import ask_and_tell, import_library
from searchers.peers.optuna_studies import Study, distributions_of

if TYPE_CHECKING:
    from dse.core.space import Space
    from dse.search.evaluator import Evaluator

EXTRA = "optunahub"
KIND = "samplers"
"""The folder of a registry that has its samplers."""


@dataclass(frozen=True)
class OptunaHub:
    """A sampler of OptunaHub, which is told penalties where a mapping does not fit."""

    sampler: str = "auto_sampler"
    """Its package, and its class where the package has several: gp_acqf_samplers:GPUCBSampler."""
    options: dict[str, Any] = field(default_factory=dict)
    """What the sampler is made with, beside a seed."""
    genes: Literal["mixed", "floats"] = "mixed"
    """mixed: whole numbers and categories; floats: numbers, rounded."""
    registry: str = ""
    """A folder with packages, as the registry's folder `package`; empty: GitHub."""
    ref: str = "main"
    """The version of the registry on GitHub: a branch, a tag or a commit."""

    digest: str = field(init=False, default="")
    """A SHA-256 of the package in the folder."""

    libraries: ClassVar[tuple[str, ...]] = ("optuna", "optunahub", "scipy", "torch")
    portable: ClassVar[bool] = False
    takes_several: ClassVar[bool] = True
    random_start: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        if self.registry:
            object.__setattr__(self, "digest", digest_of(self.sampler, self.registry))

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Ask and tell, until the budget is spent."""
        kind = sampler_class(self.sampler, self.registry, self.ref)
        objectives, floats = len(parse_objectives(evaluate.objective)), self.genes == "floats"

        def make(space: Space, seed: int) -> Study:
            there = distributions_of(space, EXTRA, floats)
            sampler = make_sampler(kind, self.sampler, {"seed": seed, "search_space": there}, self.options)
            return Study(space, sampler, EXTRA, objectives, floats=floats)

        with torch_apart(int(rng.integers(2**31))):
            ask_and_tell(make, evaluate, rng, seeds=True)


def package_of(name: str) -> tuple[str, str]:
    """The package's path in a registry, and the name of its class, empty where there is none."""
    path, _, kind = name.partition(":")
    path = path if "/" in path else f"{KIND}/{path}"
    if not all(part.isidentifier() for part in path.split("/")) or not (kind or "x").isidentifier():
        raise InputError(f"sampler must read as 'hebo', or 'hebo:HEBOSampler', got {shorten(name)}")
    return path, kind


def digest_of(name: str, registry: str) -> str:
    """A SHA-256 of a package's modules in a folder; InputError where it has none of this name."""
    folder = Path(registry) / package_of(name)[0]
    if not (folder / "__init__.py").is_file():
        there = sorted(path.parent.name for path in folder.parent.glob("*/__init__.py"))
        if not there:
            raise InputError(f"registry {registry!r} has no {KIND}/NAME/__init__.py")
        raise unknown_name("sampler", name, there, f"registry {registry!r}")
    modules = sorted(folder.rglob("*.py"))
    try:
        texts = {str(path.relative_to(folder)): path.read_bytes().hex() for path in modules}
    except OSError as error:
        raise InputError(f"registry {registry!r} cannot be read: {error.strerror}") from None
    return digest(texts)


def sampler_class(name: str, registry: str = "", ref: str = "main") -> type:
    """The class of a sampler; InputError where it, its library or a network is missing."""
    hub, base = import_library("optunahub", EXTRA), import_library("optuna.samplers", EXTRA).BaseSampler
    path, asked = package_of(name)
    if registry:
        digest_of(name, registry)
    # Modules of a package of this name that another registry had would stay in place.
    for module in [one for one in sys.modules if one.startswith(f"{_HUB}.package.{path.replace('/', '.')}.")]:
        del sys.modules[module]
    where = f"sampler {name!r} of {f'registry {registry!r}' if registry else 'OptunaHub'}"
    try:
        given = {"registry_root": registry} if registry else {"ref": ref}
        loaded = (hub.load_local_module if registry else hub.load_module)(path, **given)
    except Exception as error:
        raise InputError(f"{where} {_what_is_missing(error)}") from error
    route_draws(_HUB)
    every = getattr(loaded, "__all__", vars(loaded))
    found = {one: kind for one in every if _is_sampler(kind := getattr(loaded, one), base)}
    if asked and asked not in found:
        raise unknown_name("class", asked, found, where) if found else InputError(f"{where} has no sampler")
    if not found:
        raise InputError(f"{where} has no class of samplers")
    return found[asked] if asked else _own_first(found, loaded)


_HUB = "optunahub_registry"


def _is_sampler(kind: object, base: type) -> bool:
    return isinstance(kind, type) and issubclass(kind, base) and not inspect.isabstract(kind)


def _own_first(found: Mapping[str, type], loaded: Any) -> type:
    """The first that the package itself defines, of what it may have imported; of a list, the first."""
    own = [kind for kind in found.values() if kind.__module__.startswith(loaded.__name__)]
    return [*own, *found.values()][0] if not hasattr(loaded, "__all__") else next(iter(found.values()))


def _what_is_missing(error: Exception) -> str:
    """Why a package was not loaded, in words."""
    if isinstance(error, ImportError):
        return f"needs a library that is not here ({exception_text(error)}): see its requirements.txt"
    if isinstance(error, FileNotFoundError):
        return "is unknown there"
    said = exception_text(error).rpartition("stderr: ")[2].strip("' ")
    return f"cannot be loaded ({said}); registry=DIR takes it from a folder"


def make_sampler(
    kind: type, name: str, given: Mapping[str, Any], options: Mapping[str, Any] | None = None
) -> Any:
    """A sampler with its options; of what is `given`, with a seed if it takes one, and a space if it must."""
    takes = inspect.signature(kind).parameters
    needed = {one for one in takes if one == "seed" or takes[one].default is inspect.Parameter.empty}
    made = {one: given[one] for one in given if one in needed} | dict(options or {})
    try:
        return kind(**made)
    except Exception as error:
        said = f"sampler {name!r} cannot be made with {shorten(dict(options or {}))}: {exception_text(error)}"
        raise InputError(said) from error
