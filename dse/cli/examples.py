"""Two examples or more of every command, which its help ends with. A test runs them."""

from __future__ import annotations

from typing import Any

EXAMPLES: dict[str, tuple[str, ...]] = {
    "": (
        "dse search --layer resnet18:1 --accelerator edge --objective edp",
        "dse run quickstart --out quickstart",
        "dse list",
    ),
    "bench": (
        "dse bench cost --cost-model loopnest",
        "dse bench searchers random walk --budget 500",
    ),
    "bench campaign": (
        "dse bench campaign --cells 1000",
        "dse bench campaign --cells 1000 --json",
    ),
    "bench certify": (
        "dse bench certify mlp --accelerator edge",
        "dse bench certify mlp alexnet --accelerator edge --time-limit 5 --json",
    ),
    "bench cluster": (
        "dse bench cluster --workers 2",
        "dse bench cluster --workers 2 --json",
    ),
    "bench cost": (
        "dse bench cost --cost-model loopnest",
        "dse bench cost --cost-model maestro --json",
    ),
    "bench searchers": (
        "dse bench searchers random walk --budget 500",
        "dse bench searchers team --budget 200 --cost-model maestro --json",
    ),
    "certify": (
        "dse certify --layer resnet18:1 --accelerator edge --objective edp",
        "dse certify --network mlp --accelerator edge --out optima",
    ),
    "check": (
        "dse check random --samples 100",
        "dse check genetic --set population=50 --samples 200",
    ),
    "check-cost-model": (
        "dse check-cost-model loopnest --mappings 20",
        "dse check-cost-model ./costs.py:price --mappings 20",
    ),
    "correlate": (
        "dse correlate --layer resnet18:1 --accelerator edge --samples 500",
        "dse correlate --layer mlp:top1 --accelerator edge --agents 3 --out genes",
    ),
    "evaluate": (
        "dse evaluate --layer resnet18:1 --accelerator edge --mapping nvdla",
        "dse evaluate --layer resnet18:1 --accelerator edge --mapping eyeriss --json",
        "dse evaluate --cases cases.jsonl --cost-model maestro --json",
    ),
    "explain": (
        "dse explain --layer vgg16:1 --accelerator eyeriss-small",
        "dse explain --layer resnet18:1 --accelerator edge --mapping eyeriss",
    ),
    "export": (
        "dse export nvdla --layer resnet18:1 --accelerator edge --format nest --out o",
        "dse export nvdla --layer vgg16:2 --accelerator edge --format timeloop --out o",
    ),
    "import": (
        "dse import torch.nn:Transformer --input 8x1x512 --input 8x1x512 --out t.toml",
        "dse import model.onnx --out model.toml",
    ),
    "list": (
        "dse list presets",
        "dse list layers vgg16",
        "dse list searchers team",
    ),
    "merge": (
        "dse merge shard-1 shard-2 --out whole",
        "dse merge shard-1 shard-2 --out whole-too --json",
    ),
    "profile": (
        "dse profile maddpg --agents 3,6 --updates 3",
        "dse profile maddpg --agents 3 --updates 3 --clock cpu --json",
    ),
    "quantise": (
        "dse quantise policy --bits 8,4 --runs 3",
        "dse quantise policy --bits 8 --runs 3 --layer mlp:top1 --accelerator edge",
    ),
    "report": (
        "dse report quickstart",
        "dse report quickstart --tables-only --table layers",
    ),
    "run": (
        "dse run quickstart --out quickstart",
        "dse run quickstart --out shard-1 --shard 1/2 --workers 1 --tables-only",
    ),
    "search": (
        "dse search --layer resnet18:1 --accelerator edge --budget 200 --out found",
        "dse search --network mlp --accelerator edge --searcher genetic --budget 200",
        "dse search --layer mlp:top1 --accelerator edge --cost-model ./costs.py:price",
    ),
    "space": (
        "dse space --layer resnet18:1 --accelerator edge",
        "dse space --layer resnet18:1 --accelerator edge --fix outer.parallel=K",
    ),
}
"""By command, lines that fit into 80 columns. Of the files that they name, the tests have some."""


def add_examples(application: Any) -> None:
    """Have every command's help end with its examples."""
    for path, lines in EXAMPLES.items():
        command = application
        for name in path.split():
            command = command.commands[name]
        command.epilog = "\n".join(["Examples:", *lines])
