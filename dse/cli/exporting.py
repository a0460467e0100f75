"""Mappings from files, and into the files of other tools, as several commands read and write them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dse.cli.options import complete_format
from dse.support.errors import InputError, unknown_name

if TYPE_CHECKING:
    from dse.core.problem import AnyProblem

FORMAT_HELP = "maestro, timeloop, zigzag, json or nest"
Formats = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        help=f"With --out: the best mapping as {FORMAT_HELP}; repeatable.",
        metavar="FORMAT",
        autocompletion=complete_format,
    ),
]


def check_format(name: str) -> str:
    """The format of that name, of any kind of designs; InputError if there is none."""
    from dse.core.domains import domain_named, installed_domains

    known = dict.fromkeys(kind for one in installed_domains() for kind in domain_named(one).formats)
    if name not in known:
        raise unknown_name("format", name, tuple(known))
    return name


def check_formats(formats: Iterable[str] | None, out: Path | None) -> tuple[str, ...]:
    """The formats that are asked for; InputError for an unknown one, or where there is no folder for them."""
    found = tuple(check_format(name) for name in formats or ())
    if found and out is None:
        raise InputError("--format writes files; add --out DIR")
    return found


def refuse_formats(problem: AnyProblem, formats: Iterable[str]) -> None:
    """InputError for what one of these formats can say of no design, before any is looked for."""
    for name in formats:
        problem.refuse_format(name)


def export_best(
    formats: Iterable[str], problem: AnyProblem, best: Mapping[str, Any] | None, folder: Path
) -> None:
    """Write the best mapping of a result in these formats; what one cannot say is said on stderr."""
    _say(_exported(formats, problem, best, folder))


def _exported(
    formats: Iterable[str], problem: AnyProblem, best: Mapping[str, Any] | None, folder: Path
) -> Iterator[str]:
    """Write the files; what a format does not say of the mapping, or that it cannot, in sentences."""
    for name in formats if best else ():
        assert best is not None
        try:
            mapping, its_own = problem.read_mapping(best["mapping"]), problem.on_machine_of(best["genes"])
            yield from its_own.export(name, mapping, folder)[1]
        except InputError as error:
            yield f"not written for {name}: {error}"


def _say(sentences: Iterable[str]) -> None:
    """Each sentence once, on stderr."""
    for sentence in dict.fromkeys(sentences):
        typer.echo(sentence, err=True)


def export_layers(
    formats: Iterable[str], problems: Mapping[str, AnyProblem], data: Mapping[str, Any], out: Path | None
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
