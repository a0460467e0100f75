"""What was run and on what, as far as the folder says: nothing here is assumed to be there."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dse import __version__
from dse.analysis.study import OPTIMAL, Made, Study, Triple
from dse.report import limits
from dse.report.page.commands import campaign_toml
from dse.report.page.markup import duration_markup, scientific_markup
from dse.search.searcher import shown_settings
from dse.support.hashing import digest
from dse.support.quantities import counted_noun
from dse.support.toml import toml_value

RULES_NAMES = {"dse-arena": "rules of records"}
"""By what they have in identities (see `dse.search.run.RULES`), the names of what is no package's version."""

Fact = tuple[str, str]
"""A term and what it is."""


@dataclass(frozen=True)
class SearcherFact:
    """A searcher as it was run: its registered type and its settings as `name = value`."""

    name: str
    type: str
    settings: tuple[str, ...]


@dataclass(frozen=True)
class ProblemFact:
    """A problem in words; `layer` and `space` are empty in a folder of an older version."""

    label: str
    layer: str
    space: str
    optimum: str


@dataclass(frozen=True)
class Provenance:
    """What the page tells of the campaign. `toml` is None where the folder does not keep all settings."""

    lines: tuple[Fact, ...]
    versions: tuple[Fact, ...]
    runs: tuple[Fact, ...]
    searchers: tuple[SearcherFact, ...]
    machines: tuple[Fact, ...]
    problems: tuple[ProblemFact, ...]
    fingerprint: str
    commands: str
    toml: str | None
    toml_file: str


def study_provenance(study: Study, problems: Mapping[Triple, Made]) -> Provenance:
    """All of it, in the campaign's order."""
    about = study.about
    toml = campaign_toml(study, problems)
    file, folder = f"{study.name}.toml", study.folder.resolve().name
    versions = about.get("versions", {}).items()
    run = f"dse run {shlex.quote(file)} --out {shlex.quote(folder)}\ndse report {shlex.quote(folder)}"
    return Provenance(
        lines=_lines(study),
        versions=tuple((RULES_NAMES.get(name, str(name)), str(version)) for name, version in versions),
        runs=tuple(_run(run) for run in about.get("runs", [])),
        searchers=tuple(_searcher(study, name) for name in study.searchers),
        machines=_accelerators(study, problems),
        problems=tuple(_problem(study, triple, made) for triple, made in problems.items()),
        fingerprint=study_fingerprint(study),
        commands=run,
        toml=toml,
        toml_file=file,
    )


def study_fingerprint(study: Study) -> str:
    """SHA-256 over the fingerprints of all finished cells: equal where the same was run."""
    return digest(sorted(summary.fingerprint for summary in study.summaries))


def summary_line(study: Study) -> str:
    """The campaign in a line: `7 searchers, 4 problems, 4 seeds: 112 runs of 2,000 samples, ...`."""
    done = len(study.summaries)
    of = "" if done == study.planned else f" (of {study.planned:,} planned)"
    tiles = f", {study.tiles}" if study.tiles else ""
    return (
        f"{counted_noun(len(study.searchers), 'searcher')}, "
        f"{counted_noun(len(study.problems), 'problem')}, "
        f"{limits.seeds_in_words(study)}: {counted_noun(done, 'run')}{of} of "
        f"{limits.samples_in_words(study)}, "
        f"cost model {study.cost_model}{tiles}"
    )


def _lines(study: Study) -> tuple[Fact, ...]:
    samples = sum(summary.samples for summary in study.summaries)
    seconds = sum(summary.searcher_seconds + summary.model_seconds for summary in study.summaries)
    wall = sum(run.get("wall_seconds", 0) for run in study.about.get("runs", []) if isinstance(run, Mapping))
    found = [
        ("Campaign", study.name),
        ("Runs", f"{len(study.summaries):,} of {study.planned:,} done"),
        ("Budget", f"{limits.samples_in_words(study)} a run; {samples:,} in all"),
        ("Seeds", f"{limits.seeds_in_words(study).partition(' seed')[0]} for each searcher on each problem"),
        ("Cost model", study.cost_model),
        ("CPU time", duration_markup(seconds)),
    ]
    if wall:
        found.append(("Wall time", duration_markup(wall)))
    return (*found, ("Report by", f"dse-arena {__version__}"))


def _run(run: Any) -> Fact:
    """`28 cells in 26 s by 2 workers`, and the machine that it was on."""
    if not isinstance(run, Mapping):
        return "A run", str(run)
    machine = run.get("machine") or {}
    parts = [str(machine["processor"])] if machine.get("processor") else []
    parts += [counted_noun(machine["cores"], "core")] if isinstance(machine.get("cores"), int) else []
    parts += [f"{machine['memory_gib']} GiB"] if "memory_gib" in machine else []
    parts += [str(machine["system"])] if "system" in machine else []
    parts += [f"Python {machine['python']}"] if "python" in machine else []
    cells, workers, wall = (run.get(key, 0) for key in ("cells", "workers", "wall_seconds"))
    return (
        f"{counted_noun(cells, 'run')} in {duration_markup(wall)} by {counted_noun(workers, 'worker')}",
        ", ".join(parts),
    )


def _searcher(study: Study, name: str) -> SearcherFact:
    settings = dict(study.about.get("settings", {}).get(name, {}))
    kind = next((cell.type for cell in study.summaries if cell.searcher == name), name)
    kind = str(settings.pop("type", kind))
    shown = shown_settings(kind, settings).items()
    words = (f"{key} = {'none' if value is None else toml_value(value)}" for key, value in shown)
    return SearcherFact(name, kind, tuple(words))


def _accelerators(study: Study, problems: Mapping[Triple, Made]) -> tuple[Fact, ...]:
    """Each accelerator's figures in a line."""
    machines = {triple[1]: made.problem.accelerator for triple, made in problems.items() if made.problem}
    return tuple((study.machine(name), machine.summary) for name, machine in machines.items())


def _problem(study: Study, triple: Triple, made: Made) -> ProblemFact:
    label = study.label(triple)
    optimum = study.about.get("optima", {}).get(label)
    proof = "not proven yet" if study.proofs_to_come else "not known"
    if optimum:
        proof = "proven" if optimum["status"] == OPTIMAL else "bounded"
    if made.problem is None:
        return ProblemFact(label, "", "", proof)
    layer, space = made.problem.layer, made.problem.space
    given = made.problem.options
    fixed = "".join(f", {gene} fixed at {value}" for gene, value in given["fixed"].items())
    open_too = f", space {made.problem.opened[0] or 'of its own'}" if "parts" in given else ""
    size = f"{scientific_markup(space.mappings)}, tiles {given['tiles']}{fixed}{open_too}"
    return ProblemFact(label, f"{layer}: {layer.macs:,} MACs", size, proof)
