"""The code is read one way: what a row of genes goes through calls nothing above itself."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from dse.core.domains import make_problem
from dse.optimum import certify
from dse.search.evaluator import Evaluator
from tests import ROOT
from tests.import_graph import room
from tests.test_import_contract import TIERS
from workloads import load_layer

PLACES = {name: place for place, tier in enumerate(TIERS) for name in tier}
ROW = ("dse.core", "dse.domains", "dse.models", "dse.search")


class Walk:
    """The modules of some packages whose code runs, and the calls from one to another above it."""

    def __init__(self, packages: tuple[str, ...]) -> None:
        self.packages, self.modules = packages, set[str]()
        self.climbs = set[tuple[str, str]]()

    def _module(self, frame: FrameType | None) -> str | None:
        path = frame.f_code.co_filename if frame else ""
        if not path.startswith(f"{ROOT}/dse/"):
            return None
        name = ".".join(Path(path).relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        return name if room(name) in self.packages else None

    def look(self, frame: FrameType, event: str, _: Any) -> None:
        """A profile function: see `sys.setprofile`."""
        there = self._module(frame) if event == "call" else None
        if there is None:
            return
        self.modules.add(there)
        above = frame.f_back
        while above and not above.f_code.co_filename.startswith(f"{ROOT}/dse/"):
            above = above.f_back
        here = self._module(above)
        if here and PLACES[room(there)] > PLACES[room(here)]:
            self.climbs.add((here, there))


@contextmanager
def walking(look: Callable[[FrameType, str, Any], None]) -> Any:
    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(before)


def said(words: str) -> int:
    """A number that the page has before these words."""
    text = " ".join((ROOT / "docs" / "design.md").read_text(encoding="utf-8").split())
    return int(re.findall(rf"(\d+) {words}", text)[0])


def test_a_row_of_genes_is_priced_with_calls_upward_to_the_cost_model_alone() -> None:
    problem = make_problem(load_layer("resnet18:3"), "edge", "edp", "loopnest")
    gate, rows = Evaluator(problem, 10), problem.space.sample(np.random.default_rng(0), 2)
    gate(rows[:1])
    walk = Walk(ROW)
    with walking(walk.look):
        gate(rows[1:])
    # The one door: a problem asks its cost model, which is a plug-in like anybody's.
    assert {there for _, there in walk.climbs} == {"dse.models.loopnest"}
    assert len(walk.modules) <= said("files, nine")


def test_a_proof_goes_through_the_files_that_are_named() -> None:
    first, problem = (make_problem(load_layer(f"resnet18:{n}"), "edge", "edp", "loopnest") for n in (3, 2))
    certify(first, cache=False)
    walk = Walk(("dse.optimum", "dse.proof", "dse.domains", "dse.models"))
    with walking(walk.look):
        certify(problem, cache=False)
    assert len(walk.modules) <= said("files of problems, bounds")
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8").partition("**A proof**: ")[2]
    named = re.findall(r"\(\.\./dse/(\S+)\.py\)", page.partition("`--verify`")[0])
    ran = {"dse." + name.replace("/", ".").removesuffix(".__init__") for name in named}
    # What is kept is not looked at here.
    assert ran - {"dse.optimum.cache"} <= walk.modules
