"""The options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dse.cli.completion import (
    complete_accelerator,
    complete_layer,
    complete_model,
    complete_network,
    complete_objective,
    complete_searcher,
)
from dse.support.errors import InputError

LAYER_OPTION = typer.Option(
    help="A layer: resnet18:1, vgg16:conv1_2, FILE.toml:3, FILE.onnx:3 or FILE.yaml.",
    metavar="LAYER",
    autocompletion=complete_layer,
)
ACCELERATOR_OPTION = typer.Option(
    help="A preset such as edge, or FILE.toml.", metavar="ACCELERATOR", autocompletion=complete_accelerator
)
LayerName = Annotated[str, LAYER_OPTION]
AcceleratorName = Annotated[str, ACCELERATOR_OPTION]
NetworkName = Annotated[
    str | None,
    typer.Option(
        help="A network instead of a layer: mobilenet_v2, FILE.toml or FILE.onnx.",
        metavar="NETWORK",
        autocompletion=complete_network,
    ),
]
Objective = Annotated[
    str,
    typer.Option(
        help="What to minimise: latency, energy, edp ..., or a product such as 'energy * latency^2'.",
        metavar="OBJECTIVE",
        autocompletion=complete_objective,
    ),
]
CostModelName = Annotated[
    str | None,
    typer.Option(
        help="The cost model (dse list cost-models names the default), perhaps with settings, as in "
        "command:./price.sh; or ./FILE.py:FUNCTION.",
        metavar="MODEL",
        autocompletion=complete_model,
    ),
]
ConstantsFile = Annotated[
    str | None,
    typer.Option(
        help="Constants or other settings of the cost model, instead of its own.", metavar="FILE.toml"
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON alone on stdout.")]
Tiles = Annotated[
    str, typer.Option(help="Tile sizes: factors (divisors only) or any.", metavar="factors|any")
]
SpaceName = Annotated[
    str,
    typer.Option(
        help="What the space is put together from: default, paper (17 genes) or FILE.toml.", metavar="SPACE"
    ),
]
Hardware = Annotated[
    list[str] | None,
    typer.Option(
        help="A figure of the hardware to search too, as in l1_size=128,256,512 or noc_bandwidth=8:64:8 "
        "(from:to:step); of a machine of levels, levels.NAME.size; repeatable.",
        metavar="FIGURE=VALUES",
    ),
]
AreaBudget = Annotated[
    float | None,
    typer.Option(help="No mapping whose PEs and buffers need more mm2 is feasible.", metavar="MM2"),
]
Limit = Annotated[
    list[str] | None,
    typer.Option(
        help="A share that mappings may use at most, or must use, as in 'l2_use <= 0.8' or 'pe_use >= 0.75'; "
        "of a machine of levels 'NAME_use <= 0.5'; repeatable.",
        metavar="LIMIT",
    ),
]
Fix = Annotated[
    list[str] | None,
    typer.Option(help="Fix a gene, as in outer.parallel=K or cluster=16; repeatable.", metavar="GENE=VALUE"),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="A setting of the searcher, as in agents=9; repeatable.", metavar="NAME=VALUE"
    ),
]
Seed = Annotated[int, typer.Option(help="Which of the searcher's runs.", metavar="N")]
Verify = Annotated[
    bool, typer.Option("--verify", help="Check the proof in code that shares nothing with the solver.")
]
Cache = Annotated[
    Path | None,
    typer.Option(help="The folder where proofs are kept; by default the user's own.", metavar="DIR"),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Prove it anew: read and keep nothing.")]
WithDetail = Annotated[
    bool,
    typer.Option(
        "--detail",
        help="Where the best mapping's cycles, energy and words go; of machines of levels by tensor as well.",
    ),
]


def searcher_option(help: str) -> Any:
    """The option that names a searcher."""
    return typer.Option(help=help, metavar="SEARCHER", autocompletion=complete_searcher)


def kept_proofs(cache: Path | None, fresh: bool) -> Path | bool:
    """Where proofs are read and kept: the user's own folder is True, nowhere False."""
    if fresh and cache is not None:
        raise InputError("--fresh keeps no proofs, and --cache says where to keep them; choose one")
    return False if fresh else cache or True


def chosen_model(cost_model: str | None, constants: str | None) -> str:
    """The cost model that the options name, the default if they name none, in words that a Problem reads."""
    from dse.core.cost_models import DEFAULT_COST_MODEL, model_with
    from dse.core.cost_models import cost_model as made

    name = DEFAULT_COST_MODEL if cost_model is None else cost_model
    if constants is not None:
        return model_with(name, constants).spec
    return made(name).spec if ":" in name else name
