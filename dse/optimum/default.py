"""`dse.certify` and `dse.verify`, and a layer as `dse certify` shows it: with ties, lists and more nests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dse.core.certificate import ProofInterrupted
from dse.core.layer import in_all
from dse.core.listed import NONE, Wanted
from dse.core.problem import is_problem
from dse.optimum import certify as prove
from dse.optimum import verify as check_proof
from dse.optimum.beside import nests_of, over_more_nests, problem_of
from dse.optimum.near import lister_for, with_near
from dse.optimum.ties import settle_ties, verify_ties
from dse.optimum.verification.near import verify_near
from dse.support.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dse.core.certificate import Certificate
    from dse.core.problem import AnyProblem
    from dse.core.proofs import Check

Asked = TypeVar("Asked")

ANY, FACTORS = "any", "factors"
SECONDS_ANY = 60.0
"""How long a proof over tiles of any size takes at most, if nothing is said: some spaces are too large."""


def over_any_tiles(make: Callable[[str], Asked], model: Any) -> Asked:
    """What `make` gives of tiles of any size; of perfect factors where the others cannot be proven, or where
    a cost model's kind of designs is proven over them unless it is told.
    """
    from dse.core.domains import domain_of

    try:
        if not domain_of(model).proves_any_tiles:
            return make(FACTORS)
        return make(ANY)
    except InputError:
        # What is wrong whatever the tiles is said by this.
        return make(FACTORS)


def certify(
    problem: AnyProblem,
    time_limit: float | None = None,
    *,
    tiles: str | None = None,
    cache: bool | str | Path = True,
    within: float | None = None,
    best: int | None = None,
    more_nests: bool = True,
) -> Certificate:
    """The proven optimum of `problem`, or the bound that `time_limit` seconds were enough for.

    It is over tiles of any size where there are proofs of these, in at most 60 seconds, and over perfect
    factors elsewhere, as `dse certify` has it; the certificate says which (`tiles`), and its genes are of
    `problem.with_changes(tiles=certificate.tiles)`. With tiles "factors" or "any" it is over those.
    On machines of levels, where neither the machine nor the problem says which nests, a second proof is over
    uneven ones (`over_more_nests`, not with `more_nests` False). Where the certificate's `nests` say so,
    genes and mapping are of the problem with `fixed={"nests": "uneven"}`.
    Of mappings that are as good it is the one with the least energy, or the fewest cycles where energy is
    minimised: where that takes a second proof, `ties` says how far it got.
    With `within`, a share such as 0.05, the certificate's `within` are all mappings that are at most so much
    above the optimum, each nest of loops once; with `best`, so many of the best.
    Certificates are kept: `cache` is a folder, True for the user's own, or False. A proof whose time ran out
    goes on from what is kept; Ctrl-C ends its time too, with a `ProofInterrupted`.
    InputError for a problem that cannot be certified.
    """
    wanted = Wanted(within, best).check()
    if not is_problem(problem):
        return prove(problem, time_limit, cache=cache)
    if tiles is not None:
        asked = problem if tiles == problem.options["tiles"] else problem.with_changes(tiles=tiles)
    else:
        asked = over_any_tiles(lambda kind: _provable(problem, kind), problem.model)
    chosen = str(asked.options["tiles"])
    if tiles is None and time_limit is None and chosen == ANY:
        time_limit = SECONDS_ANY
    try:
        asked, found = prove_layer(asked, time_limit, cache, wanted, more_nests)
    except ProofInterrupted as interrupted:
        stopped, nests = interrupted.certificate, nests_of(problem_of(asked, interrupted.certificate))
        raise ProofInterrupted(replace(stopped, tiles=chosen, nests=nests)) from None
    return replace(found, tiles=chosen, nests=nests_of(asked))


def _provable(problem: AnyProblem, tiles: str) -> AnyProblem:
    """The problem over such tiles; InputError where there are no proofs."""
    from dse.core.domains import prover_of

    if tiles == FACTORS:
        return problem
    found = problem.with_changes(tiles=tiles)
    prover_of(found).refuse()
    return found


def verify(problem: AnyProblem, certificate: Certificate, seed: int = 0) -> Sequence[Check]:
    """Check a certificate of `problem`, over the tiles that it is of, in code that is not the solver's."""
    same = certificate.fingerprint == problem.fingerprint
    there = problem if same else problem_of(problem.with_changes(tiles=certificate.tiles), certificate)
    extra = (*verify_ties(there, certificate, seed), *verify_near(there, certificate, seed))
    return (*check_proof(there, certificate, seed), *extra)


def certify_layer(
    spec: str,
    accelerator: str,
    problem: AnyProblem,
    *,
    time_limit: float | None = None,
    cache: bool | str | Path = True,
    check: bool = False,
    wanted: Wanted = NONE,
    more_nests: bool = False,
) -> tuple[Certificate, dict[str, Any]]:
    """One layer's certificate, and as plain data; with `check` it is verified, and `verified` says how."""
    problem, found = prove_layer(problem, time_limit, cache, wanted, more_nests)
    return found, describe_layer(spec, accelerator, problem, found, check=check)


def prove_layer(
    problem: AnyProblem, time_limit: float | None, cache: bool | str | Path, wanted: Wanted, more_nests: bool
) -> tuple[AnyProblem, Certificate]:
    """One layer's certificate, and the problem that it is of.

    `wanted` says which mappings near the optimum come with it, over the nests of the problem alone; without
    it, see `over_more_nests` for `more_nests`.
    """
    if wanted:
        lister_for(problem)
    found = prove(problem, time_limit, cache=cache)
    if more_nests and not wanted:
        problem, found = over_more_nests(problem, found, time_limit, cache=cache)
    found = settle_ties(problem, found, time_limit, cache=cache)
    return problem, with_near(problem, found, wanted, time_limit)


def describe_layer(
    spec: str, accelerator: str, problem: AnyProblem, found: Certificate, *, check: bool = False
) -> dict[str, Any]:
    """A layer's certificate as plain data, beside its roofline and what all of its runs take."""
    entry = found.to_dict(problem, spec, accelerator) | _beside_roofline(problem, found)
    if found.best is not None:
        entry |= in_all(problem.layer, found.best.cycles, found.best.energy_nj)
    sources = problem.model.energy_sources(problem.layer, problem.accelerator)
    if sources:
        entry["energies"] = list(sources)
    if check:
        entry["verified"] = [asdict(one) for one in verify(problem, found)]
    return entry


def _beside_roofline(problem: AnyProblem, found: Certificate) -> dict[str, Any]:
    """The layer's roofline, and how far the best mapping is from it; nothing where the model has none."""
    best = found.best
    there = problem if best is None else problem.on_machine_of(best.genes)
    bounds = there.model.roofline(there.layer, there.accelerator)
    if bounds is None:
        return {}
    above: dict[str, float | None] = {"cycles_above": None, "energy_above": None}
    if best is not None:
        energy = best.energy_nj / bounds.energy_nj if bounds.energy_nj else None
        above = {"cycles_above": best.cycles / bounds.cycles, "energy_above": energy}
    return {"roofline": bounds.to_dict() | above}
