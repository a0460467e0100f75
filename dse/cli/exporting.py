"""Mappings from files, and into the files of other tools, as several commands read and write them."""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dse.cli.completion import complete_format
from dse.support.errors import InputError, unknown

if TYPE_CHECKING:
    from dse.core.layer import Layer
    from dse.domains.clustered.accelerator import Accelerator
    from dse.domains.clustered.mapping import Mapping as DataflowMapping
    from dse.domains.clustered.problem import Problem

FORMAT_HELP = "maestro, timeloop, zigzag, json or nest"
Formats = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        help=f"With --out: the best mapping in this format too ({FORMAT_HELP}); repeatable.",
        metavar="FORMAT",
        autocompletion=complete_format,
    ),
]


def find_mapping(name: str, layer: Layer, accelerator: Accelerator, model: str) -> DataflowMapping:
    """The template of that name fitted to the layer and accelerator, or the mapping in a file."""
    from dse.domains.clustered.formats import read_mapping
    from dse.domains.clustered.formats.registry import SUFFIXES
    from dse.domains.clustered.problem import Problem
    from dse.domains.clustered.templates import TEMPLATES

    if name in TEMPLATES:
        return Problem(layer, accelerator, cost_model=model).template(name)
    path = Path(name)
    if path.suffix not in SUFFIXES and not os.path.exists(name):
        raise unknown("mapping", name, TEMPLATES, "the templates (or name a .json, .m or .yaml file)")
    return read_mapping(name, layer, accelerator)


def check_formats(formats: Iterable[str] | None, out: Path | None) -> tuple[str, ...]:
    """The formats that are asked for; InputError for an unknown one, or where there is no folder for them."""
    from dse.domains.clustered.formats.registry import named

    found = tuple(named(name).name for name in formats or ())
    if found and out is None:
        raise InputError("--format writes files; add --out DIR")
    return found


def export_best(
    formats: Iterable[str], problem: Problem, best: Mapping[str, Any] | None, folder: Path
) -> None:
    """Write the best mapping of a result in these formats; what one cannot say is said on stderr."""
    _say(_exported(formats, problem, best, folder))


def _exported(
    formats: Iterable[str], problem: Problem, best: Mapping[str, Any] | None, folder: Path
) -> Iterator[str]:
    """Write the files; what a format does not say of the mapping, or that it cannot, in sentences."""
    from dse.domains.clustered.formats import export
    from dse.domains.levels.formats import export_levels

    for name in formats if best else ():
        assert best is not None
        try:
            mapping: Any = problem.read_mapping(best["mapping"])
            if problem.model.hierarchical:
                yield from export_levels(name, problem, mapping, folder)[1]
            else:
                export(name, problem.layer, problem.accelerator, mapping, folder)
        except InputError as error:
            yield f"not written for {name}: {error}"


def _say(sentences: Iterable[str]) -> None:
    """Each sentence once, on stderr."""
    for sentence in dict.fromkeys(sentences):
        typer.echo(sentence, err=True)


def export_layers(
    formats: Iterable[str], problems: Mapping[str, Problem], data: Mapping[str, Any], out: Path | None
) -> None:
    """Write the best mapping of each layer of a network, a folder a layer beside the mappings."""
    from dse.search.network import MAPPINGS, layer_file

    sentences: list[str] = []
    for place, entry in enumerate(data["layers"] if out else ()):
        assert out is not None
        name = entry["layer"]
        folder = out / MAPPINGS / Path(layer_file(place, name)).stem
        said = _exported(formats, problems[name], entry["best"], folder)
        sentences += (f"{name}: {one}" if one.startswith("not written") else one for one in said)
    _say(sentences)
