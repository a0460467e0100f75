"""Matrix products are shown as such by every command, and layers that became one are named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Dse

SHOWN = "GEMM M48 N96 K32"
NETWORK = """
name = "encoder"
[[layers]]
name = "query"
type = "GEMM"
M = 48
N = 96
K = 32
[[layers]]
name = "key"
type = "GEMM"
M = 48
N = 96
K = 32
[[layers]]
name = "value"
type = "FC"
outputs = 96
inputs = 32
batch = 48
[[layers]]
name = "classifier"
type = "FC"
outputs = 10
inputs = 96
"""


@pytest.fixture
def encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("encoder.toml").write_text(NETWORK)
    return "encoder.toml"


@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "layers", "{net}"),
        ("certify", "--layer", "{net}:query", "--accelerator", "edge", "--fresh"),
        (
            "search",
            "--layer",
            "{net}:query",
            "--accelerator",
            "edge",
            "--searcher",
            "random",
            "--budget",
            "9",
        ),
        ("evaluate", "--layer", "{net}:query", "--accelerator", "edge", "--mapping", "nvdla"),
        ("explain", "--layer", "{net}:query", "--accelerator", "edge"),
        ("space", "--layer", "{net}:query", "--accelerator", "edge"),
        *(
            ("certify", "--layer", "{net}:query", "--accelerator", "gemmini", "--objective", "edp", *model)
            for model in [("--cost-model", "timeloop", "--time-limit", "1", "--fresh")]
        ),
    ],
    ids=lambda arguments: arguments[0] + (" levels" if "gemmini" in arguments else ""),
)
def test_every_command_shows_a_product_as_one(dse: Dse, encoder: str, arguments: tuple[str, ...]) -> None:
    shown = dse(*(argument.format(net=encoder) for argument in arguments)).out
    assert SHOWN in shown
    assert "CONV" not in shown
    if arguments[0] in ("certify", "search", "evaluate"):
        assert " n0 in " in shown or "for N in " in shown or "parallel N in " in shown
        dims = "M is P, N is K, K is C" if "gemmini" in arguments else "M is Y, N is K, K is C"
        assert f"in mapping files, genes and --fix: {dims}" in shown


def test_exports_and_messages_show_a_product_as_one(dse: Dse, encoder: str, tmp_path: Path) -> None:
    where = ("--layer", f"{encoder}:query", "--accelerator", "edge")
    for name in ("timeloop", "zigzag", "nest"):
        out = tmp_path / name
        assert dse("export", "shidiannao", *where, "--format", name, "--out", str(out)).code == 0
        assert any(SHOWN in file.read_text() for file in out.iterdir())
    dse("export", "nvdla", *where, "--format", "maestro", "--out", str(tmp_path))
    other = ("--layer", f"{encoder}:classifier", "--accelerator", "edge")
    wrong = dse("evaluate", *other, "--mapping", str(tmp_path / "mapping.m")).refused()
    assert f"is of {SHOWN}; expected GEMM M1 N10 K96" in wrong
    assert dse("search", *where, "--searcher", "random", "--budget", "9", "--out", "found").code == 0
    large = json.loads(Path("found/mapping.json").read_text())
    large["outer"]["tile"]["K"] = 97
    Path("large.json").write_text(json.dumps(large))
    wrong = dse("evaluate", *where, "--mapping", "large.json").refused()
    assert "outer.tile.K must be from 1 to 96 (what the layer has of N), got 97" in wrong


def test_layers_that_became_one_are_named(dse: Dse, encoder: str, tmp_path: Path) -> None:
    said = "equal layers are one, with the repeats of all: query is also key, value"
    first, last = dse("list", "layers", encoder, "--json").json["layers"]
    assert (first["also"], last["also"]) == (["key", "value"], [])
    assert said in dse("list", "layers", encoder).out
    (entry,) = dse("list", "layers", f"{encoder}:key", "--json").json["layers"]
    assert entry["also"] == ["query", "value"]
    network = ("--network", encoder, "--accelerator", "edge")
    assert said in dse("certify", *network, "--fresh").err
    assert said in dse("search", *network, "--searcher", "random", "--budget", "5", "--workers", "1").err
    # Of a single layer only where its result goes by another name.
    one = ("--accelerator", "edge", "--mapping", "nvdla", "--json")
    assert said in dse("evaluate", "--layer", f"{encoder}:value", *one).err
    assert dse("evaluate", "--layer", f"{encoder}:query", *one).err == ""


def test_a_campaign_says_which_layers_are_one(dse: Dse, encoder: str, tmp_path: Path) -> None:
    campaign = tmp_path / "c.toml"
    campaign.write_text(
        f'name = "c"\nbudget = 5\nseeds = 1\ncost_model = "loopnest"\nobjectives = ["edp"]\n'
        f'accelerators = ["edge"]\nlayers = ["{encoder}"]\n[searchers.random]\n'
    )
    done = dse("run", str(campaign), "--out", str(tmp_path / "out"), "--workers", "1", "--tables-only")
    assert done.code == 0
    assert f"{encoder}: equal layers are one, with the repeats of all: query is also key, value" in done.err
