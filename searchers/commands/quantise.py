"""`dse quantise`: what a saved policy is worth in fewer bits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dse.cli import output
from dse.cli.options import ACCELERATOR_OPTION, LAYER_OPTION, Json
from dse.support.errors import InputError
from dse.support.strict_json import plain
from searchers.common.refusals import refusals_as_input_errors

if TYPE_CHECKING:
    from learners.policy import SavedPolicy
    from learners.trials import Trial


def command(
    policy: Annotated[Path, typer.Argument(help="The folder of a saved policy.", metavar="POLICY")],
    bits: Annotated[
        str, typer.Option(help="Bits: 2 to 8 for whole numbers, 16 for half precision.", metavar="N,N,...")
    ] = "16,8,6,4,2",
    qat: Annotated[
        bool, typer.Option("--qat", help="Teach it again as well, aware of rounding from the half on.")
    ] = False,
    weights_alone: Annotated[
        bool, typer.Option("--weights-alone", help="Leave activations in full precision.")
    ] = False,
    per_channel: Annotated[
        bool, typer.Option("--per-channel", help="A scale for each output of a layer, not for all.")
    ] = False,
    layer: Annotated[str | None, LAYER_OPTION] = None,
    accelerator: Annotated[str | None, ACCELERATOR_OPTION] = None,
    objective: Annotated[
        str, typer.Option(help="What to minimise on a layer that is named.", metavar="OBJECTIVE")
    ] = "latency",
    samples: Annotated[int, typer.Option(help="Samples of a run, for mappings.", metavar="N")] = 500,
    runs: Annotated[
        int, typer.Option(help="Runs: searches by the policy alone, or episodes.", metavar="N")
    ] = 10,
    out: Annotated[
        Path | None,
        typer.Option(help="A folder for quantise.json, the figure and the policies.", metavar="DIR"),
    ] = None,
    json: Json = False,
) -> None:
    """Set a policy in fewer bits beside the saved one.

    Quality, bytes and time.

    A policy for mappings draws samples on the layer that it was taught on, or on one that is named; one for
    a task of Gymnasium plays episodes. Runs are paired. Times are of layers that compute in that precision;
    weights of fewer than 8 bits are stored in fewer, and computed with in 8.
    """
    from learners.policy import load_policy
    from learners.trials import precision_of, try_all

    chosen = [precision_of(_bits(text), not weights_alone, per_channel) for text in bits.split(",")]
    with _one_thread(), refusals_as_input_errors():
        saved = load_policy(policy)
        trial = _trial(saved, layer, accelerator, objective, samples, runs)
        tried = []
        for one in try_all(saved.policy, trial, chosen, qat):
            tried.append(one)
            typer.echo(" ".join((f"{one.precision.weights} bits", one.quantised)), err=True)
    from searchers.commands.quantise_view import as_data

    data = as_data(policy.name, saved.policy.algorithm, trial.quality, tried)
    if out is not None:
        _write(data, tried[1:], saved, out)
    if json:
        output.print_json(data)
    else:
        from searchers.commands.quantise_view import print_table

        print_table(data, out)


def _bits(text: str) -> int:
    known = (*range(2, 9), 16)
    if not (text.strip().isdecimal() and int(text) in known):
        raise InputError(f"--bits must be among {', '.join(map(str, known))}, as in 8,6,4, got {text!r}")
    return int(text)


def _one_thread() -> Any:
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(1)
    return threadpool_limits(1)


def _trial(
    saved: SavedPolicy, layer: str | None, accelerator: str | None, objective: str, samples: int, runs: int
) -> Trial:
    """What the policy is for."""
    from dse.support.validation import whole_number
    from learners.trials import GymnasiumTrial

    whole_number(runs, "--runs", least=2, most=100_000)
    whole_number(samples, "--samples")
    if "game" in saved.about:
        from searchers.commands.mapping_trial import MappingTrial, taught_on

        if (layer is None) != (accelerator is None):
            raise InputError("--layer and --accelerator name a problem together")
        if layer is None or accelerator is None:
            return MappingTrial(saved.about, taught_on(saved.about), samples, runs)
        from dse.core.domains import make_problem
        from workloads import load_layer

        named = make_problem(load_layer(layer), accelerator, objective)
        return MappingTrial(saved.about, named, samples, runs)
    if layer is not None or accelerator is not None:
        raise InputError("--layer and --accelerator are for policies of mappings")
    if "task" not in saved.about:
        raise InputError("the policy says neither a task nor a game that it is for, so it cannot be measured")
    return GymnasiumTrial(saved.policy, saved.about, runs)


def _write(data: dict[str, Any], tried: list[Any], saved: SavedPolicy, out: Path) -> None:
    from dse.report.plots.files import png_bytes
    from dse.support.files import make_folder, write_json, write_whole
    from learners.policy import save_policy
    from learners.trials import AWARE
    from searchers.commands.quantise_view import plot_losses

    make_folder(out)
    write_json(out / "quantise.json", plain(data))
    write_whole(out / "quantise.png", png_bytes(plot_losses(data)), "figure")
    for one in tried:
        name = f"{one.precision.weights}-bits" + ("-aware" if one.quantised == AWARE else "")
        save_policy(one.policy, out / name, saved.about)
