"""Whether a list of the mappings near an optimum is what it says: priced anew, and with none left out."""

from __future__ import annotations

import numpy as np

from dse.core.certificate import Certificate, priced_mapping
from dse.core.listed import Listed
from dse.core.problem import AnyProblem
from dse.core.proofs import Check
from dse.optimum.near import lister_for

DRAWN, AROUND = 20_000, 100
"""Mappings drawn at random, and listed ones that all neighbours are looked at of."""


def verify_near(problem: AnyProblem, certificate: Certificate, seed: int = 0) -> tuple[Check, ...]:
    """Check what is said of mappings near the optimum, if they were asked for."""
    listed, best = certificate.within, certificate.best
    if listed is None or best is None or not len(listed):
        return ()
    return _prices(problem, listed, best.loss), _none_left_out(problem, listed, seed)


def _prices(problem: AnyProblem, listed: Listed, least: float) -> Check:
    """Whether each costs what is claimed, and they are in order, different, near, and not too many."""
    lister, nests = lister_for(problem), set()
    name, share = "listed mappings cost what is claimed", listed.wanted.share
    losses = [one.loss for one in listed]
    wrong = "" if losses == sorted(losses) and losses[0] == least else "they are not in order"
    for place, one in enumerate(listed):
        if priced_mapping(problem, one.mapping) != one:
            wrong = f"mapping {place} is priced otherwise"
        nests.add(lister.nest_of(one.mapping))
    if share is not None and losses[-1] > least * (1 + share):
        wrong = f"the last one is {losses[-1] / least - 1:.4%} above the best"
    if len(nests) < len(losses):
        wrong = f"{len(losses) - len(nests)} are there twice"
    if listed.wanted.most is not None and len(losses) > listed.wanted.most:
        wrong = f"{len(losses)} are listed"
    return Check(name, not wrong, wrong or f"{len(losses):,} mappings")


def _none_left_out(problem: AnyProblem, listed: Listed, seed: int) -> Check:
    """Whether mappings drawn at random, and all that differ from listed ones in a choice, are listed."""
    name, rng = "no mapping that was drawn is missing in the list", np.random.default_rng(seed)
    chosen = np.unique(np.linspace(0, len(listed) - 1, AROUND).astype(int))
    around = [np.array(listed[place].genes) for place in chosen.tolist()]
    blocks = [block.neighbours(genes) for genes in around for block in problem.space.blocks]
    points = np.unique(np.concatenate([problem.space.sample(rng, DRAWN), *blocks]), axis=0)
    losses = problem.price(points).loss
    nest_of = lister_for(problem).nest_of
    known = {nest_of(one.mapping) for one in listed}
    below = points[losses < listed.bound]
    near = problem.space.decode(below)
    missing = [near[place] for place in range(len(near)) if nest_of(near[place]) not in known]
    seen = f"{len(points):,} looked at, {len(below):,} of them near enough"
    return Check(name, not missing, f"{len(missing)} of {seen}: {missing[0].to_json()}" if missing else seen)
