"""Input that is absurd, without end or meant for a terminal is refused in one line, before any sample."""

from __future__ import annotations

import dataclasses
import gzip
import time
from pathlib import Path

import pytest

from dse.campaign.config import NamedCell, NamedProblem, Variant
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.report.formats import as_csv, markdown_table
from dse.search.run import Cell
from dse.search.searcher import make_searcher, searcher_class, searchers
from dse.support.errors import InputError
from tests.conftest import Dse
from workloads import load_layer

CAMPAIGN = """
name = "hostile"
budget = 50
seeds = {seeds}
cost_model = "maestro"
objectives = ["edp"]
accelerators = ["{accelerator}"]
layers = [{layers}]
[searchers.{searcher}]
"""
PLAIN = {"seeds": 1, "accelerator": "edge", "layers": '"vgg16:1"', "searcher": "random"}
HARMLESS = {
    "train_freq",
    "patience",
    "restricted_patience",
    "restricted_grace_period",
    "perturbation",
    "warmup_samples",
    "samples_elsewhere",
    "agents",
    "elite",
}
"""Settings that may be a billion: nothing is made of that size, and nothing done as often."""


def campaign(folder: Path, **changes: object) -> str:
    path = folder / "hostile.toml"
    path.write_text(CAMPAIGN.format(**PLAIN | changes))
    return str(path)


@pytest.mark.parametrize("name", [name for name in searchers() if "." not in name])
def test_no_setting_of_a_searcher_takes_a_billion_of_anything(name: str) -> None:
    made = searcher_class(name)
    if not made.__module__.startswith("searchers."):
        pytest.skip("not ours")
    for item in dataclasses.fields(made):
        if item.name in HARMLESS or "int" not in str(item.type):
            continue
        value: object = [10**9] if "tuple" in str(item.type) else 10**9
        with pytest.raises(InputError, match=item.name):
            make_searcher(name, {item.name: value})


def test_campaigns_of_millions_of_cells_are_refused_with_their_count(tmp_path: Path, dse: Dse) -> None:
    before = time.process_time()
    message = dse("run", campaign(tmp_path, seeds=100_000, layers='"vgg16", "resnet50"')).refused()
    assert "has 200,000 cells or more" in message
    many = campaign(tmp_path, seeds=1, layers=", ".join(['"vgg16:1"'] * 200_000))
    assert "(200,000 problems, each with 1 runs" in dse("run", many).refused()
    assert time.process_time() - before < 5
    assert [path.name for path in tmp_path.iterdir()] == ["hostile.toml"]


@pytest.mark.parametrize("changes", [{"accelerator": r"edge\u001b[31m"}, {"layers": r'"vgg16:1\u0007"'}])
def test_names_with_control_characters_are_refused(tmp_path: Path, dse: Dse, changes: dict[str, str]) -> None:
    message = dse("run", campaign(tmp_path, **changes)).refused()
    assert "must be a line of text" in message
    assert message.isprintable()


def test_a_layer_whose_name_would_colour_the_terminal_is_refused(tmp_path: Path, dse: Dse) -> None:
    path = tmp_path / "net.toml"
    path.write_text('name = "net"\n[[layers]]\ntype = "FC"\noutputs = 8\ninputs = 8\nname = "a\\u001b[31m"\n')
    message = dse("space", "--layer", f"{path}:0", "--accelerator", "edge").refused()
    assert "must be a line of text" in message
    assert message.isprintable()


def test_what_users_type_reaches_no_terminal_as_a_command(dse: Dse) -> None:
    assert dse("space", "--layer", "a\x1b[31m", "--accelerator", "edge").refused().isprintable()
    assert dse("\x1b[31m").refused().isprintable()


def test_a_layers_name_of_240_letters_makes_file_names_that_fit() -> None:
    problem = Problem(load_layer("vgg16:1"), PRESETS["edge"], "edp", "maestro")
    keys = set()
    for name in ("net:" + "a" * 240, "net:" + "a" * 241):
        cell = Cell(problem, "random", make_searcher("random"), 0, 10)
        key = NamedCell(
            NamedProblem(name, "edge", problem), Variant("random", "random", cell.searcher), cell
        ).key
        assert len(key) < 200
        keys.add(key)
    assert len(keys) == 2


def test_files_without_end_are_read_to_a_bound(tmp_path: Path, dse: Dse) -> None:
    endless = tmp_path / "zero.toml"
    endless.symlink_to("/dev/zero")
    assert "larger than 16 MiB" in dse("run", str(endless)).refused()
    mapping = tmp_path / "zero.json"
    mapping.symlink_to("/dev/zero")
    options = ("--layer", "vgg16:1", "--accelerator", "edge", "--mapping", str(mapping))
    assert "larger than 16 MiB" in dse("evaluate", *options).refused()


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"0" * (1 << 26), "line 1 is longer than"), (b"\n" * 1_100_000, "more than 1,000,000 lines")],
)
def test_a_bomb_among_the_cases_is_not_unpacked(tmp_path: Path, dse: Dse, content: bytes, said: str) -> None:
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(content, 1))
    assert said in dse("evaluate", "--cases", str(path)).refused()


@pytest.mark.parametrize("constant", ["mac_pj", "dram_pj", "element_um2"])
@pytest.mark.parametrize("value", ["1e308", "1e-308"])
def test_constants_stay_where_figures_are_numbers(
    tmp_path: Path, dse: Dse, constant: str, value: str
) -> None:
    path = tmp_path / "constants.toml"
    path.write_text(f"{constant} = {value}\n")
    options = (
        "--accelerator",
        "edge",
        "--mapping",
        "nvdla",
        "--cost-model",
        "loopnest",
        "--constants",
        str(path),
    )
    assert (
        f"{constant} must be from 1e-30 to 1e+30" in dse("evaluate", "--layer", "vgg16:1", *options).refused()
    )


def test_tables_hold_text_and_no_commands() -> None:
    text = markdown_table(("<b>a|b</b>", ["name"], [["<script>x|y</script>"], ["[x](javascript:y)"]], ""))
    assert "<" not in text
    assert r"x\|y" in text
    assert "](" not in text.replace(r"]\(", "")
    rows = as_csv(
        ("name", "loss"), [("=cmd|' /C calc'!A0", -1.5), ("@sum", 2.0), ("plain", 3.0)]
    ).splitlines()
    assert rows[1].startswith("'=cmd")
    assert rows[1].endswith("-1.5")
    assert rows[2:] == ["'@sum,2.0", "plain,3.0"]


def test_campaign_files_that_others_have_named_and_filled_colour_no_terminal_in_a_list(
    tmp_path: Path, dse: Dse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results" / "campaigns"
    folder.mkdir(parents=True)
    (folder / "a\x1b[31m.toml").write_text(
        '# Says \u202e this.\nbudget = "\\u001b[1m"\n[searchers."\\u0007"]\n'
    )
    (folder / "endless.toml").symlink_to("/dev/zero")
    for arguments in ((), ("results/campaigns/a\x1b[31m.toml",)):
        outcome = dse("list", "campaigns", *arguments)
        assert outcome.code == 0
        assert outcome.out.replace("\n", "").isprintable()
        assert r"a\x1b[31m.toml" in outcome.out


def test_a_message_ends_however_long_what_it_is_about(dse: Dse) -> None:
    assert len(dse("space", "x" * 100_000).refused()) < 2100
    assert (
        len(dse("evaluate", "--layer", "vgg16:1", "--accelerator", "x" * 100_000 + ".toml").refused()) < 2100
    )


@pytest.mark.parametrize("name", ["x" * 5000, "a/" * 5000])
def test_names_longer_than_any_file_has_are_wrong_input(tmp_path: Path, dse: Dse, name: str) -> None:
    where = ("--layer", "vgg16:1", "--accelerator", "edge")
    dse("evaluate", *where, "--mapping", name).refused()
    dse("search", *where, "--searcher", "random", "--budget", "5", "--start", name).refused()
    dse("evaluate", *where, "--mapping", "nvdla", "--cost-model", f"{name}.py:price").refused()
    dse("evaluate", *where, "--mapping", "nvdla", "--cost-model", f"command:{name}").refused()
    dse("run", name).refused()
    path = tmp_path / "hostile.toml"
    path.write_text(f'start = "{name}"\n' + CAMPAIGN.format(**PLAIN))
    dse("run", str(path)).refused()
