"""`dse.certify` and `dse.verify`: proofs over the designs that `dse certify` takes if nothing is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dse.core.certificate import ProofInterrupted
from dse.core.listed import Wanted
from dse.core.problem import is_problem
from dse.optimum import certify as prove
from dse.optimum import verify as check
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
    if wanted:
        lister_for(asked)
    chosen = str(asked.options["tiles"])
    if tiles is None and time_limit is None and chosen == ANY:
        time_limit = SECONDS_ANY
    try:
        found = prove(asked, time_limit, cache=cache)
        if more_nests and not wanted:
            asked, found = over_more_nests(asked, found, time_limit, cache=cache)
        found = settle_ties(asked, found, time_limit, cache=cache)
    except ProofInterrupted as interrupted:
        stopped, nests = interrupted.certificate, nests_of(problem_of(asked, interrupted.certificate))
        raise ProofInterrupted(replace(stopped, tiles=chosen, nests=nests)) from None
    found = with_near(asked, found, wanted, time_limit)
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
    return (*check(there, certificate, seed), *extra)
