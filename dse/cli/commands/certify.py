"""`dse certify`: the best mapping of a layer, or of each layer of a network, with the proof that it is."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dse.cli import output
from dse.cli.exporting import Formats, check_formats, export_best, export_layers, refuse_formats
from dse.cli.networks import ProblemOptions, layers_asked, note_merged, problems_asked
from dse.cli.options import (
    ACCELERATOR_OPTION,
    LAYER_OPTION,
    Cache,
    ConstantsFile,
    CostModelName,
    Fix,
    Fresh,
    Hardware,
    Json,
    Limit,
    Nests,
    NetworkName,
    Objective,
    SpaceName,
    Verify,
    WithDetail,
    chosen_model,
    kept_proofs,
    with_nests,
)
from dse.support.errors import InputError

if TYPE_CHECKING:
    from dse.optimum.network_options import NetworkOptions

FAILED = 1
GAP = 0.001
"""How far above the least product of a network's totals is enough, if nothing is said: proving more takes
ten times as long."""


def command(
    accelerator: Annotated[str, ACCELERATOR_OPTION],
    layer: Annotated[str | None, LAYER_OPTION] = None,
    network: NetworkName = None,
    objective: Objective = "latency",
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds for a layer, or all of --network; 60 a layer where it may take longer.",
            metavar="S",
        ),
    ] = None,
    verify: Verify = False,
    tiles: Annotated[
        str | None,
        typer.Option(
            help="Tiles: factors (divisors only) or any. Default: factors on machines of levels, else any.",
            metavar="factors|any",
        ),
    ] = None,
    space: SpaceName = "default",
    hardware: Hardware = None,
    fix: Fix = None,
    nests: Nests = None,
    limit: Limit = None,
    cost_model: CostModelName = None,
    constants: ConstantsFile = None,
    cache: Cache = None,
    fresh: Fresh = False,
    out: Annotated[
        Path | None, typer.Option(help="A folder for the mappings and certificates.", metavar="DIR")
    ] = None,
    format: Formats = None,
    roofline: Annotated[
        bool,
        typer.Option(
            "--roofline", help="With --network: show its layers beside the roofline; --out draws them."
        ),
    ] = False,
    chains: Annotated[
        bool,
        typer.Option(
            "--chains", help="Let what a network's layers make stay on chip for those that read it."
        ),
    ] = False,
    line_buffers: Annotated[
        bool,
        typer.Option(
            "--line-buffers",
            help="With --chains: two convolutions in a row may keep a window of rows.",
        ),
    ] = False,
    gap: Annotated[
        float | None,
        typer.Option(
            help=f"How far above a network's least EDP is enough (by default {GAP}; 0 proves it).",
            metavar="SHARE",
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(
            help="Also list all mappings whose loss is at most so much above the optimum.",
            metavar="SHARE|N%",
        ),
    ] = None,
    best: Annotated[
        int | None, typer.Option(help="Of a layer, also list so many of the best mappings.", metavar="N")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that prove a network's layers.", metavar="N")] = 1,
    detail: WithDetail = False,
    json: Json = False,
) -> None:
    """Prove the best mapping of a layer or a network.

    Two objectives, 'latency,energy', give the exact front. The cost model must bring proofs; some models
    bring them for tiles of any size too. The exit code is 1 if a layer has no feasible mapping, or if a
    proof does not pass --verify.
    """
    from dse.core.calibration import fits_said, slower_than_measured
    from dse.core.domains import domain_of
    from dse.core.listed import Wanted, read_share
    from dse.core.objective import names_several
    from dse.optimum.default import ANY, FACTORS, SECONDS_ANY, over_any_tiles
    from dse.optimum.network_options import NetworkOptions
    from dse.support.validation import positive_number, whole_number

    layers, formats = layers_asked("certify", layer, network), check_formats(format, out)
    kept = kept_proofs(cache, fresh)
    if detail and (network is not None or names_several(objective)):
        raise InputError("--detail is of one layer and one objective: give --layer, one of the network's")
    if roofline and network is None:
        raise InputError("--roofline is of a network's layers; a layer's own is shown with its proof")
    wanted = Wanted(None if within is None else read_share(within, "--within"), best).check()
    if wanted and (network is not None or names_several(objective)):
        raise InputError("--within and --best are of one layer and one objective: give --layer")
    alone = fix or limit or hardware or formats or roofline
    if chains and (network is None or alone or names_several(objective)):
        raise InputError(
            "--chains is of a --network and one objective, without --fix, --limit, --hardware, --format and "
            "--roofline"
        )
    if line_buffers and not chains:
        raise InputError("--line-buffers is of --chains")
    if time_limit is not None:
        positive_number(time_limit, "--time-limit")
    if network is None or chains or names_several(objective):
        if gap is not None or workers != 1:
            raise InputError("--gap and --workers are of a --network and one objective, without --chains")
    elif gap is not None and not 0 <= gap < math.inf:
        raise InputError(f"--gap must be a share of at least 0, as in 0.001, got {gap}")
    whole_number(workers, "--workers", most=1024)
    model = chosen_model(cost_model, constants)
    asked = partial(
        problems_asked,
        layers,
        accelerator,
        objective,
        model,
        refuse=partial(_refuse, roofline=roofline, formats=formats),
        named=network is not None,
    )
    options_of = partial(
        ProblemOptions, space=space, hardware=hardware, fix=with_nests(fix, nests), limits=limit
    )
    narrow = names_several(objective) or chains or bool(formats)
    problems = (
        asked(options_of(tiles or FACTORS))
        if tiles or narrow
        else over_any_tiles(lambda one: asked(options_of(one)), model)
    )
    given = time_limit  # By default there is one: some spaces may be too large for a proof.
    if time_limit is None:
        any_size = any(problem.options["tiles"] == ANY for problem in problems.values())
        time_limit = SECONDS_ANY if any_size else domain_of(model).proof_seconds
    note_merged(network or layer or "")
    files = {"machine": accelerator, "constants": constants}
    for line in () if json else fits_said(files, fix or ()):
        print(line)
    options: dict[str, Any] = {"time_limit": time_limit, "cache": kept, "check": verify}
    in_all = {"time_limit": None, "in_all": given} if given is not None else {}
    try:
        if chains:
            from dse.cli.chains_view import certify_chains

            asked_of = NetworkOptions(**options | in_all, lines=line_buffers)
            entry = certify_chains(str(network), accelerator, problems, json, asked_of, out)
            _exit([entry])
        elif names_several(objective):
            _certify_fronts(network, accelerator, problems, out, json, options | (in_all if network else {}))
        elif network is None:
            own = options | {"wanted": wanted, "more_nests": not (narrow or nests)}
            entry = _certify_layer(accelerator, problems, out, formats, json, own, detail=detail)
            for line in () if json else slower_than_measured(files, entry):
                print(line)
            _exit([entry])
        else:
            share = GAP if gap is None else gap
            asked_of = NetworkOptions(**options | in_all, gap=share, workers=workers)
            _certify_network(network, accelerator, problems, out, formats, json, asked_of, roofline=roofline)
    except KeyboardInterrupt:
        if not fresh:
            typer.echo("dse: what is proven is kept; the same command goes on from there", err=True)
        raise


def _refuse(problem: Any, *, roofline: bool, formats: tuple[str, ...]) -> None:
    """Say what cannot be certified before the first proof of a network begins."""
    from dse.core.domains import prover_of
    from dse.core.objective import names_several

    if names_several(problem.objective):
        from dse.optimum.front import refuse_front

        if roofline or formats:
            raise InputError(
                "--roofline and --format are of one objective; of a front --out has every mapping"
            )
        refuse_front(problem)
        return
    refuse_formats(problem, formats)
    prover_of(problem).refuse()


def _certify_layer(
    accelerator: str,
    problems: dict[str, Any],
    out: Path | None,
    formats: tuple[str, ...],
    json: bool,
    options: dict[str, Any],
    *,
    detail: bool,
) -> dict[str, Any]:
    from dse.cli.best_view import with_breakdown
    from dse.cli.certify_view import show_layer
    from dse.core.certificate import ProofInterrupted
    from dse.optimum.beside import problem_of
    from dse.optimum.default import certify_layer, describe_layer
    from dse.optimum.network import CERTIFICATE, write_layer
    from dse.search.api import MAPPING
    from dse.support.files import make_folder

    ((spec, problem),) = problems.items()
    if out is not None:
        make_folder(out)
    stopped = None
    try:
        with output.error_console().status(f"proving the optimum of {spec}"):
            certificate, entry = certify_layer(spec, accelerator, problem, **options)
    except ProofInterrupted as interrupted:
        stopped, certificate = interrupted, interrupted.certificate
        entry = describe_layer(spec, accelerator, problem_of(problem, certificate), certificate)
    problem = problem_of(problem, certificate)
    if out is not None:
        write_layer(entry, out / MAPPING, out / CERTIFICATE)
        export_best(formats, problem, entry["best"], out)
    if json:
        output.print_json(with_breakdown(problem, entry, detail=detail))
    else:
        show_layer(problem, certificate, entry, out, detail=detail, kept=options["cache"] is not False)
    if stopped:
        raise stopped
    return entry


def _certify_network(
    network: str,
    accelerator: str,
    problems: dict[str, Any],
    out: Path | None,
    formats: tuple[str, ...],
    json: bool,
    options: NetworkOptions,
    *,
    roofline: bool,
) -> None:
    from dse.cli.certify_view import LayerBar, draw_rooflines, show_network
    from dse.optimum.network import certify_network

    with LayerBar(network, len(problems)) as bar:
        data = certify_network(
            network, accelerator, problems, options, out=out, observe=bar, observe_total=bar.total
        )
    export_layers(formats, problems, data, out)
    if out is not None and roofline:
        draw_rooflines(data, out)
    if json:
        output.print_json(data)
    else:
        show_network(
            next(iter(problems.values())), data, out, kept=options.cache is not False, roofline=roofline
        )
    total = {"layer": network, "best": data["totals"], **data["total"]} if "total" in data else None
    _exit([*data["layers"], *([total] if total else [])])


def _certify_fronts(
    network: str | None,
    accelerator: str,
    problems: dict[str, Any],
    out: Path | None,
    json: bool,
    options: dict[str, Any],
) -> None:
    from dse.cli.certify_view import LayerBar
    from dse.cli.front_view import draw_front, show_front, show_network_front
    from dse.optimum.network_front import certify_layer_front, certify_network_front
    from dse.optimum.network_options import NetworkOptions

    name = network or next(iter(problems))
    with LayerBar(name, len(problems)) as bar:
        shown = (
            certify_layer_front(name, accelerator, problems[name], out=out, **options)
            if network is None
            else certify_network_front(
                name, accelerator, problems, NetworkOptions(**options), out=out, observe=bar
            )
        )
    if out is not None:
        draw_front(None if network else problems[name], shown, out)
    if json:
        output.print_json(shown)
    elif network is None:
        show_front(problems[name], shown, out)
    else:
        show_network_front(next(iter(problems.values())), shown, out)
    _exit(
        [{**entry, "best": entry["status"] != "infeasible" or None} for entry in shown.get("layers", [shown])]
    )


def _exit(entries: list[dict[str, Any]]) -> None:
    """Fail if a layer has no feasible mapping or a proof did not pass."""
    failed = False
    for entry in entries:
        for check in entry.get("verified", []):
            if not check["passed"]:
                typer.echo(
                    f"dse: error: {entry['layer']}: not verified: {check['name']}: {check['seen']}", err=True
                )
                failed = True
    if failed or any(entry["best"] is None for entry in entries):
        raise typer.Exit(FAILED)
