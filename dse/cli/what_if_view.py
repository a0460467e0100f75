"""`dse explain --what-if`: what limits a layer, as a table of what twice of each resource would bring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dse.cli import output
from dse.cli.best_view import DIGITS
from dse.cli.steps_view import steps
from dse.support.errors import InputError
from dse.support.quantities import quantity

if TYPE_CHECKING:
    from dse.core.certificate import Certificate
    from dse.core.problem import AnyProblem
    from dse.optimum.what_if import WhatIf

SAID = 3
"""Resources that the last line names."""


def explain_what_if(
    problem: AnyProblem,
    layer: str,
    accelerator: str,
    *,
    tiles: str | None,
    time_limit: float | None,
    json: bool,
) -> None:
    """Prove the optimum as the machine is and with twice of each resource, and print what that brings.

    InputError where no mapping is feasible: then `dse explain` without `--what-if` says what would help.
    """
    from dse.core.objective import several
    from dse.optimum.default import certify
    from dse.optimum.what_if import what_if

    if several(problem.objective):
        raise InputError("--what-if is of one objective, as in latency or edp")
    with steps() as tell:
        tell(f"{layer}: as the machine is")
        base = certify(problem, time_limit, tiles=tiles)
        if base.best is None:
            raise InputError(
                f"{layer} has no mapping that is feasible; dse explain without --what-if says why"
            )
        found = []
        for one in what_if(problem, base, time_limit):
            found.append(one)
            tell(f"{layer}: {len(found)} resources are proven, the last {one.name}")
    found.sort(key=lambda one: -one.gain[0] if one.gain else 0.0)
    if json:
        given = base.to_dict(problem.with_changes(tiles=base.tiles), layer, accelerator)
        output.print_json({**given, "what_if": [one.to_dict() for one in found]})
    else:
        _show(problem, layer, accelerator, base, found)


def _show(problem: AnyProblem, layer: str, accelerator: str, base: Certificate, found: list[WhatIf]) -> None:
    from dse.core.cost_models import unit_of
    from dse.optimum.what_if import GAINS

    assert base.best is not None
    unit = unit_of(problem.objective, problem.model.name)
    console = output.make_console()
    where = f"{problem.accelerator.called(accelerator)}, cost model {problem.model_spec}"
    output.print_heading(console, f"{layer} ({problem.layer}), {where}: what limits it")
    over = "tiles of any size" if base.tiles == "any" else "perfect factors"
    claim = f"{base.status} {problem.objective} {quantity(base.best.loss, unit, DIGITS)}"
    console.print(f"{claim} as the machine is, over {over}")
    heads = ("resource", "now", "then", problem.objective, "better by")
    rows = [
        (
            one.name,
            _values(one.own),
            _values(one.then),
            quantity(one.certificate.best.loss, unit, DIGITS)
            if one.certificate and one.certificate.best
            else "",
            _gain(one),
        )
        for one in found
    ]
    output.print_table(console, "the optimum with one resource changed", heads, rows, figures=heads[1:])
    for one in found:
        if one.refused:
            console.print(f"{one.name}: {one.refused}")
    limits = [f"{one.name} ({_gain(one)})" for one in found if one.limits]
    if limits:
        console.print(f"limited by {', then '.join(limits[:SAID])}")
    elif any(one.gain and one.gain[1] >= GAINS for one in found):
        console.print("not known: no proof of a change came far enough; --time-limit gives more")
    else:
        console.print("no resource limits it by itself: none brings 1 % alone")


def _values(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:,.7g}" for value in dict.fromkeys(values))


def _gain(one: WhatIf) -> str:
    if one.gain is None:
        return "refused" if one.refused else "nothing feasible"
    least, most = (f"{value:.3f}" for value in one.gain)
    return f"{least} x" if least == most else f"{least} to {most} x"
