"""Torch modules as networks: all that multiplies is a layer, whoever calls it."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from dse.core.layer import Layer
from dse.support.errors import InputError
from tests.conftest import Dse
from tests.workloads import torch_models
from workloads import from_torch, load
from workloads.models.toml_file import network_toml

META = torch.device("meta")


def meta(*shape: int) -> torch.Tensor:
    return torch.empty(*shape, device="meta")


def test_a_transformer_of_the_size_of_gpt2_has_its_published_work() -> None:
    module, ids = torch_models.gpt2(), meta(1, torch_models.TOKENS).long()
    network = from_torch(module, ids)
    sizes = (getattr(torch_models, name) for name in ("TOKENS", "WIDTH", "HEADS", "BLOCKS", "WORDS"))
    assert network.macs == torch_models.hoffmann(*sizes)
    with FlopCounterMode(display=False) as counter:
        module(ids)
    assert 2 * network.macs == counter.get_total_flops()
    # Attention and the words' scores are functions: each block's heads are the same two products.
    block = load("gpt2_block").layers
    assert [(layer, layer.repeats) for layer in network.layers] == [
        *((layer, 12 * layer.repeats) for layer in block),
        (Layer.gemm(1024, 50257, 768), 1),
    ]
    assert network.layers[1].name == "blocks.0.scores"
    assert all(entry.macs == 0 for entry in network.left_out)
    assert {"aten::embedding", "aten::gelu"} <= {entry.operator for entry in network.left_out}


class Functions(nn.Module):
    """Products and convolutions that are functions, in all their forms."""

    def forward(self, image: torch.Tensor, row: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> Any:
        with torch.no_grad():
            inside = functional.conv2d(
                image, image.new_zeros(8, 2, 3, 3), groups=2, dilation=2, padding="same"
            )
        return (
            inside,
            functional.conv1d(row, row.new_zeros(6, 4, 5), stride=2, padding=2),
            functional.conv_transpose2d(image, image.new_zeros(4, 3, 2, 2), stride=2),
            functional.conv3d(image[None], image.new_zeros(5, 1, 1, 3, 3)),
            torch.einsum("bik,bjk->bij", a, b),
            a @ b[0].T,
            torch.baddbmm(a @ b.mT, a, b.mT),
            torch.addmm(a[0] @ b[0].T, a[0], b[0].T),
            torch.tensordot(a, b, dims=([0, 2], [0, 2])),
            torch.fft.fft(row),
        )


def test_functions_are_seen_as_modules_are() -> None:
    network = from_torch(Functions(), (meta(1, 4, 9, 9), meta(2, 4, 20), meta(3, 5, 7), meta(3, 6, 7)))
    wholes = [layer for group in network.wholes for layer in group]
    assert wholes[:3] == [
        Layer("CONV", 8, 4, 9, 9, 3, 3, padding=(2, 2), dilation=(2, 2), groups=2),
        Layer("CONV", 6, 4, 1, 20, 1, 5, (1, 2), (0, 2), batch=2),
        Layer("CONV", 3, 4, 9, 9, 1, 1),
    ]
    products = [(layer, layer.repeats) for layer in network.layers[3:]]
    # A product of three samples by einsum, by baddbmm and inside it; shared weights are more rows.
    assert dict(products) == {
        Layer.gemm(5, 6, 7): 3 + 3 + 3 + 1 + 1,
        Layer.gemm(15, 6, 7): 1,
        Layer.gemm(5, 6, 21): 1,
    }
    work = {entry.operator: entry.macs for entry in network.left_out if entry.macs != 0}
    assert work == {"aten::conv3d": 5 * 4 * 7 * 7 * 9, "aten::fft_fft": None}


def test_recurrent_modules_are_products_of_each_layer_and_direction() -> None:
    with META:
        module = nn.LSTM(10, 6, num_layers=2, bidirectional=True, proj_size=4)
    network = from_torch(module, meta(7, 3, 10))
    each = sum(parameter.numel() for parameter in module.parameters() if parameter.dim() == 2)
    assert network.macs == 7 * 3 * each
    assert network.layers[0] == Layer.gemm(21, 24, 10)


def test_a_layer_goes_by_its_module_and_a_file_keeps_it(tmp_path: Path) -> None:
    with META:
        stem = nn.Conv2d(4, 8, 3, padding=1)
        block = nn.Sequential(
            nn.Conv2d(8, 8, 3, padding=1, groups=4, bias=False), nn.BatchNorm2d(8), nn.ReLU()
        )
        last = nn.Conv2d(8, 8, 3, padding=1, groups=4), nn.Flatten(), nn.Linear(8 * 81, 10)
        module = nn.Sequential(stem, block, *last)
    network = from_torch(module.eval(), meta(2, 4, 9, 9), name="small")
    assert network.members == (("conv2d.0",), ("1.0", "conv2d.2"), ("linear.4",))
    path = tmp_path / "small.toml"
    path.write_text(network_toml(network), encoding="utf-8")
    again = load(path)
    assert again.layers == network.layers
    assert (
        [layer.repeats for layer in again.layers] == [layer.repeats for layer in network.layers] == [2, 16, 1]
    )
    assert again.left_out == network.left_out
    assert (again.macs, again.source) == (network.macs, "torch module small")


FACTORY = """
import torch

def make():
    return torch.nn.Sequential(torch.nn.Embedding(9, 8), torch.nn.Linear(8, 4))

def broken():
    raise RuntimeError("no such weights")

def picky():
    class Picky(torch.nn.Module):
        def forward(self, x):
            return x[x > 0] @ torch.zeros(3, 3) if x.sum() > 0 else x
    return Picky()

def narrow():
    return torch.nn.Linear(8, 4)

def exits():
    raise SystemExit(0)

class Exits(torch.nn.Module):
    def forward(self, x):
        print("forward")
        raise SystemExit(0)

number = 3
"""


@pytest.fixture
def factory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module in the working directory."""
    (tmp_path / "own_models.py").write_text(FACTORY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "own_models"


def test_import_writes_a_network_file_of_a_factory(factory: str, dse: Dse) -> None:
    made = ("import", f"{factory}:make", "--input", "2x16:int64", "--out", "net.toml")
    found = dse(*made, "--json").json
    assert (found["distinct_layers"], found["macs"], found["out"]) == (1, 2 * 16 * 8 * 4, "net.toml")
    assert [entry["operator"] for entry in found["left_out"]] == ["aten::embedding"]
    assert load("net.toml").layers == (Layer.gemm(32, 4, 8),)
    assert "net.toml: 1 distinct layers, 1 with repeats, 1,024 MACs" in dse(*made).out
    assert "left out, without a MAC: 1 x aten::embedding" in dse(*made).out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["own_models:mak", "--input", "1"],
            "unknown factory 'mak' in module 'own_models'; did you mean",
        ),
        (["own_models:broken"], "own_models:broken cannot be made: RuntimeError: no such weights"),
        (["own_models:exits"], "own_models:exits cannot be made: SystemExit: sys.exit(0) was called"),
        (["own_models:Exits", "--input", "3"], "cannot trace own_models:Exits: SystemExit: sys.exit(0) was"),
        (["own_models:number"], "'own_models:number' is no torch module, and makes none; it gives 3"),
        (["no_models:make"], "module 'no_models' cannot be imported: ModuleNotFoundError"),
        (["own_models:make"], "torch.export cannot trace own_models:make"),
        (
            ["own_models:picky", "--input", "3"],
            "torch.export cannot trace own_models:picky",
        ),
        (["own_models:make", "--input", "1y2"], "--input must be a shape such as 1x3x224x224"),
        (["own_models:make", "--input", "1:whole"], "unknown torch type 'whole'"),
        (["own_models:narrow", "--input", "2x9"], "cannot trace own_models:narrow: a and b must have same"),
        (["own_models"], "'own_models' is neither FILE.onnx nor MODULE:FACTORY"),
        (["m.onnx", "--input", "1x3"], "--input names an input of an ONNX file and its shape"),
    ],
)
def test_what_cannot_be_imported_gets_one_line(
    factory: str, dse: Dse, logged: list[logging.LogRecord], arguments: list[str], words: str
) -> None:
    assert words in dse("import", *arguments, "--out", "net.toml").refused()
    # torch logs a traceback of its own where shapes do not match.
    assert not [record for record in logged if record.levelno > logging.WARNING]
    assert not Path("net.toml").exists()


def test_a_network_file_is_a_toml_file(factory: str, dse: Dse) -> None:
    assert "--out must end in .toml" in dse("import", f"{factory}:make", "--out", "net.onnx").refused()


def test_a_module_that_multiplies_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="no matrix product that can be mapped; it has aten::relu"):
        from_torch(nn.ReLU(), meta(3))
