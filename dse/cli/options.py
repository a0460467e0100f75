"""The options that several commands share, and what a shell offers to complete them.

Each function of completion is asked for one word, and imports what it needs then.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Annotated, Any

import typer

from dse.support.errors import InputError


def answer_shell(app: Callable[..., object]) -> None:
    """Have the application answer the shell that asks, which ends the process.

    bash takes a word with a colon for several, and replaces only what is behind the colon.
    """
    before = _join_at_colons(os.environ) if os.environ.get("_DSE_COMPLETE") == "complete_bash" else ""
    text = io.StringIO()
    try:
        with contextlib.redirect_stdout(text):
            app(prog_name="dse")
    finally:
        sys.stdout.writelines(line.removeprefix(before) for line in text.getvalue().splitlines(keepends=True))


def _join_at_colons(asked: MutableMapping[str, str]) -> str:
    """Put the words that bash asks with together where it broke them; what of the last one stays as it is."""
    words = asked.get("COMP_WORDS", "").split("\n")[: int(asked.get("COMP_CWORD", 0)) + 1]
    joined: list[str] = []
    for place, word in enumerate(words):
        if joined and ":" in (word[:1], words[place - 1][-1:]):
            joined[-1] += word
        elif word == "=" and joined[-1].startswith("--"):
            # As if a space stood between an option and its value.
            joined += [""] * (place == len(words) - 1)
        else:
            joined.append(word)
    asked["COMP_WORDS"], asked["COMP_CWORD"] = "\n".join(joined), str(len(joined) - 1)
    return joined[-1].removesuffix(words[-1].lstrip(":"))


def complete_layer(incomplete: str) -> list[str]:
    """Networks, and the layers of one that is told from the others."""
    from dse.support.errors import InputError
    from workloads import NETWORKS, layer_specs

    networks = _beginning(incomplete, NETWORKS) or [incomplete.rpartition(":")[0]]
    if len(networks) > 1:
        return [f"{name}:" for name in networks]
    try:
        return _beginning(incomplete, layer_specs(networks[0]))
    except InputError:
        return []


def complete_executor(incomplete: str) -> list[str]:
    """The installed executors."""
    from dse.campaign.executors import executor_names

    return _beginning(incomplete, executor_names())


def complete_network(incomplete: str) -> list[str]:
    """The networks that come along."""
    from workloads import NETWORKS

    return _beginning(incomplete, NETWORKS)


def complete_accelerator(incomplete: str) -> list[str]:
    """The presets."""
    from dse.core.domains import domain_named, installed_domains

    return _beginning(
        incomplete, [one["name"] for name in installed_domains() for one in domain_named(name).hardware()]
    )


def complete_searcher(incomplete: str) -> list[str]:
    """The installed searchers."""
    from dse.search.searcher import searchers

    return _beginning(incomplete, searchers())


def complete_objective(incomplete: str) -> list[str]:
    """The objectives, also as the next factor of a product."""
    from dse.core.objective import OBJECTIVES

    last = incomplete.replace(",", "*").rpartition("*")[2].lstrip()
    before = incomplete[: len(incomplete) - len(last)]
    return [before + name for name in _beginning(last, OBJECTIVES)]


def complete_model(incomplete: str) -> list[str]:
    """The installed cost models."""
    from dse.core.cost_models import all_models

    return _beginning(incomplete, all_models())


def complete_format(incomplete: str) -> list[str]:
    """The formats of mappings."""
    from dse.core.domains import domain_named, installed_domains

    known = dict.fromkeys(kind for one in installed_domains() for kind in domain_named(one).formats)
    return _beginning(incomplete, known)


def complete_campaign(incomplete: str) -> list[str]:
    """The campaigns that come along; a shell offers files where there are none."""
    from dse.campaign.reading import named_campaigns

    return _beginning(incomplete, named_campaigns())


def complete_suite(incomplete: str) -> list[str]:
    """The suites that come along."""
    from dse.suite.suites import named_suites

    return _beginning(incomplete, named_suites())


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


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
        help="Minimised: latency, energy, edp ..., or a product as 'energy * latency^2'.",
        metavar="OBJECTIVE",
        autocompletion=complete_objective,
    ),
]
CostModelName = Annotated[
    str | None,
    typer.Option(
        help="A cost model (dse list cost-models), command:./price.sh, or ./FILE.py:FUNCTION.",
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
        help="Hardware to search too, as l1_size=128,256 or noc_bandwidth=8:64:8; repeatable.",
        metavar="FIGURE=VALUES",
    ),
]
AreaBudget = Annotated[
    float | None,
    typer.Option(
        help="The area that a mapping's PEs and buffers may need; larger ones are infeasible.", metavar="MM2"
    ),
]
Limit = Annotated[
    list[str] | None,
    typer.Option(
        help="What mappings may or must use, as 'l2_use <= 0.8', 'pe_use >= 0.75'; repeatable.",
        metavar="LIMIT",
    ),
]
Fix = Annotated[
    list[str] | None,
    typer.Option(
        help="Fix a gene, as outer.parallel=K, or to some values, as cluster=8,16; repeatable.",
        metavar="GENE=VALUE[,VALUE]",
    ),
]
Nests = Annotated[
    str | None,
    typer.Option(
        help="Machines of levels: uneven gives each tensor of a level a depth of its own.",
        metavar="even|uneven",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="A setting of the searcher, as in agents=9; repeatable.", metavar="NAME=VALUE"
    ),
]
Seed = Annotated[int, typer.Option(help="The seed of the searcher's random draws.", metavar="N")]
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
        help="Where the best mapping's cycles, energy and words go.",
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


def with_nests(fix: list[str] | None, nests: str | None) -> list[str] | None:
    """What is fixed, with the kind of nests."""
    return fix if nests is None else [*(fix or []), f"nests={nests}"]
