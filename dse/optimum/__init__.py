"""Proven optima: `dse.certify(problem)` is the best mapping of a space of perfect factors, with the proof."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from dse.core.certificate import BOUNDED, Certificate, Counts, Incumbent, ProofInterrupted, begun_with
from dse.core.domains import prover_of
from dse.core.problem import AnyProblem, is_problem
from dse.support.errors import InputError, StorageError, shorten
from dse.support.files import make_folder
from dse.support.validation import positive_number

if TYPE_CHECKING:
    from dse.core.clock import Clock, Now
    from dse.core.proofs import Check, Prover

__all__ = ["Incumbent", "Certificate", "Counts", "ProofInterrupted", "certify", "verify"]


def certify(
    problem: AnyProblem,
    time_limit: float | None = None,
    *,
    cache: bool | str | Path = True,
    now: Now = perf_counter,
    first: Incumbent | None = None,
) -> Certificate:
    """The proven optimum of `problem`, or the bound that `time_limit` seconds were enough for.

    Certificates are kept, and their mappings priced anew when they are read: `cache` is a folder, True for
    the user's own, or False. A proof whose time ran out goes on from what is kept. Ctrl-C ends its time too:
    what is raised is then a `ProofInterrupted` with the certificate. `now` counts its seconds.
    Where nothing is kept, machines of levels begin with `first`, a good mapping. Of objective `area`, and of
    spaces of other parts that a cost model has no boxes of, there is a bound and a good mapping, and an
    optimum where these meet. InputError for a problem that cannot be certified: only cost
    models with a `proof_module` can, and tiles of any size under those whose proofs hold for them.
    """
    from dse.core.clock import Clock
    from dse.optimum.cache import load_certificate, user_folder
    from dse.support.compilations import tell_of_compiling

    if not is_problem(problem):
        raise InputError(f"problem must be a Problem, as Problem(layer, accelerator), got {shorten(problem)}")
    if time_limit is not None:
        positive_number(time_limit, "time_limit")
    clock = Clock(time_limit, now)
    # Kernels are compiled once after an installation: that is no proof's time.
    with tell_of_compiling(clock.pause):
        prover, begun = prover_of(problem), begun_with(problem, first) if first else None
        prover.refuse()
        # A floor is found sooner than a file is read and checked.
        if cache is False or prover.floor_only:
            return _prove(prover, problem, clock, begun, None)
        folder = user_folder() if cache is True else Path(cache)
        if cache is not True:
            # Before the proof: what could not be kept would be lost.
            make_folder(folder)
        known = load_certificate(problem, folder)
        if known is not None and known.status != BOUNDED:
            return known
        return _prove(prover, problem, clock, known or begun, folder, must_keep=cache is not True)


def _prove(
    prover: Prover,
    problem: AnyProblem,
    clock: Clock,
    known: Certificate | None,
    folder: Path | None,
    must_keep: bool = False,
) -> Certificate:
    """Prove what there is time for, and keep it in a folder; StorageError where that cannot be, but must."""
    from dse.optimum.cache import store_certificate

    found = None
    try:
        with clock.until_interrupted():
            found = prover.solve(clock, known)
            try:
                if folder is not None:
                    store_certificate(problem, found, folder)
            except StorageError:
                # A home that cannot be written to costs time only; a folder that was asked for must work.
                if must_keep:
                    raise
    except KeyboardInterrupt:
        if found is None:
            raise
        raise ProofInterrupted(found) from None
    return found


def verify(problem: AnyProblem, certificate: Certificate, seed: int = 0) -> tuple[Check, ...]:
    """Check a certificate in code that shares nothing with the solver; see `dse.optimum.verification`."""
    from dse.optimum import verification

    return verification.verify(problem, certificate, seed)
