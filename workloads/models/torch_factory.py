"""A module by the name of the function that makes it, as in my_models:make, and inputs by their shapes."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dse.support.errors import InputError, code_of_others, one_line, shorten, unknown_name
from workloads.models.torch_module import from_torch
from workloads.network import Network

if TYPE_CHECKING:
    import torch

Shaped = tuple[tuple[int, ...], str]
"""An input: its shape, and the name of its torch type."""


def from_factory(spec: str, inputs: Sequence[Shaped], keywords: Mapping[str, Shaped]) -> Network:
    """The network of the module that MODULE:FACTORY makes, for inputs of these shapes.

    FACTORY is a function without arguments that returns a torch module, a class of modules, or a module.
    MODULE is looked for in the working directory too. InputError in one line where any of it fails.
    """
    import torch

    made = _made(spec)
    if not isinstance(made, torch.nn.Module):
        raise InputError(f"{spec!r} is no torch module, and makes none; it gives {shorten(made)}")
    device = next((value.device for value in made.parameters()), torch.device("cpu"))
    return from_torch(
        made,
        [_tensor(*one, device) for one in inputs],
        {name: _tensor(*one, device) for name, one in keywords.items()},
        name=spec,
    )


def _made(spec: str) -> Any:
    """What the factory makes."""
    import torch

    where, _, name = spec.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    with code_of_others(f"module {where!r} cannot be imported"):
        found: Any = importlib.import_module(where)
    for part in name.split("."):
        if not hasattr(found, part):
            public = [one for one in dir(found) if not one.startswith("_") and callable(getattr(found, one))]
            raise unknown_name("factory", name, public, f"module {where!r}")
        found = getattr(found, part)
    if isinstance(found, torch.nn.Module) or not callable(found):
        return found
    with code_of_others(f"{spec} cannot be made"):
        return found()


def _tensor(shape: tuple[int, ...], kind: str, device: torch.device) -> torch.Tensor:
    """A tensor of any values: only its shape is traced."""
    import torch

    found = getattr(torch, kind, None)
    if not isinstance(found, torch.dtype):
        raise InputError(f"unknown torch type {kind!r} of an input; expected one such as float32 or int64")
    try:
        return torch.empty(shape, dtype=found, device=device)
    except RuntimeError as error:
        sizes = "x".join(map(str, shape))
        raise InputError(f"an input of {sizes} cannot be made: {one_line(str(error))}") from None
