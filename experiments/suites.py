"""Make the suites of `dse suite list` from committed campaigns: `python -m experiments.suites [NAME]...`

A suite has the problems of its campaigns, as their `curves.parquet` define them, each proven again within
SECONDS. `short` is every other problem of final2. Files are frozen: one that is there is left as it is, and
a suite whose problems change is to have another version. `python -m experiments.suites committed` writes what
`dse suite standing` says of the committed runs where there is no checkout.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from dse.analysis.study import load_study
from dse.suite.making import entry_of
from dse.suite.problem import Entry
from dse.suite.standing import KEPT, kept_text
from dse.suite.suites import Suite, suite
from dse.support.files import write_whole
from experiments import RESULTS

NAMED = Path(__file__).parents[1] / "dse" / "suite" / "named"
SECONDS = 600.0


@dataclass(frozen=True)
class Source:
    """What a suite is made of: campaigns whose problems it has, and others that have runs on them."""

    about: str
    campaigns: tuple[str, ...]
    budget: int = 500
    more: tuple[str, ...] = ()
    step: int = 1
    """One of so many problems is taken."""
    version: int = 1


FINAL2 = ("final2-loopnest", "final2-maestro")
LATER = tuple(f"final2-{kind}-{model}" for kind in ("own", "tuned") for model in ("loopnest", "maestro"))
SUITES = {
    "short": Source("every other problem of final2: a run of a searcher in a minute", FINAL2, 100, LATER, 2),
    "small": Source("small budgets, drawn layers and machines", ("small-loopnest", "small-maestro")),
    "final": Source("the final twelve, run once", ("final-loopnest", "final-maestro")),
    "final2": Source("layers and machines that nothing here had before", FINAL2, 500, LATER),
    "paper": Source("MobileNetV2 and VGG16 in a space of 17 genes", ("paper-table3",), 2000, version=2),
    "gemmini": Source("layers on Gemmini, a machine of levels", ("gemmini",), 2000),
    "transformers": Source("products of transformers, words of mixed widths", ("transformers",), 2000),
    "codesign": Source("a machine and its mappings as one vector", ("codesign-bert",), 2000),
    "chains": Source("what stays on chip and mappings as one vector", ("chains", "chains-shared"), 1000),
}


def problems_of(source: Source) -> list[Entry]:
    """The problems of its campaigns, proven."""
    found: dict[str, Entry] = {}
    for campaign in source.campaigns:
        study = load_study(RESULTS / campaign)
        for triple in study.problems[:: source.step]:
            made = study.make_problem(triple)
            assert made is not None
            name = short_name(study.label(triple))
            name = study.label(triple) if name in found else name
            found[name] = entry_of(made, name, SECONDS)
            print(f"{name}: {found[name].status}", flush=True)
    return list(found.values())


def short_name(label: str) -> str:
    """A label without the folders of its files."""
    return re.sub(r"\S*/(?:layers\.toml:)?|\.toml\b", "", label)


def main() -> None:
    """Write the suites that are named, by default all that are not there."""
    if sys.argv[1:] == ["committed"]:
        for name in SUITES:
            write_whole(KEPT / f"{name}.json", kept_text(suite(name)), "standing")
        return
    for name in sys.argv[1:] or SUITES:
        path, source = NAMED / f"{name}.json", SUITES[name]
        if not path.exists():
            records = tuple(f"results/{one}" for one in (*source.campaigns, *source.more))
            found = tuple(problems_of(source))
            Suite(name, source.version, source.about, source.budget, found, records).write(path)


if __name__ == "__main__":
    main()
