"""A campaign file is read strictly: what is wrong is said in one line, with the place."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from dse.campaign import reading
from dse.campaign.config import LIMITS, Campaign
from dse.campaign.reading import campaign_path, load_campaign, named_campaigns
from dse.campaign.reference import optimum_figures
from dse.cli.commands.run import find_layers
from dse.core.cost_models import DEFAULT_COST_MODEL
from dse.search.searcher import searcher_class, searchers
from dse.support.errors import InputError

GOOD = """
name = "small"
budget = 100
seeds = 2
cost_model = "maestro"
objectives = ["latency", "edp"]
accelerators = ["edge", "eyeriss"]
layers = ["alexnet:conv2", "resnet18:3"]
[searchers.random]
[searchers.slow-walk]
type = "walk"
n_walkers = 2
"""
PROBLEM = '[[problems]]\nlayer = "alexnet:conv2"\naccelerator = "edge"\nobjective = "edp"\n'


def read(tmp_path: Path, text: str) -> Campaign:
    path = tmp_path / "campaign.toml"
    path.write_text(text)
    return load_campaign(str(path), find_layers)


def test_cells_are_problems_times_searchers_times_seeds(tmp_path: Path) -> None:
    campaign = read(tmp_path, GOOD)
    cells = list(campaign.cells())
    assert len(cells) == 2 * 2 * 2 * 2 * 2
    assert len({named.key for named in cells}) == len(cells)
    assert len({named.cell.fingerprint for named in cells}) == len(cells)
    assert campaign.variants[1].searcher.n_walkers == 2


def test_a_network_stands_for_all_its_distinct_layers(tmp_path: Path) -> None:
    campaign = read(tmp_path, GOOD.replace('"alexnet:conv2", "resnet18:3"', '"alexnet"'))
    assert len({problem.layer for problem in campaign.problems}) == 8


def test_a_network_is_whole_only_where_it_was_asked_for_as_such(tmp_path: Path) -> None:
    campaign = read(tmp_path, GOOD.replace('"alexnet:conv2", "resnet18:3"', '"alexnet:conv2", "alexnet"'))
    machines = [
        ["alexnet", name, objective] for name in ("edge", "eyeriss") for objective in ("latency", "edp")
    ]
    assert sorted(campaign.networks) == sorted(machines)
    assert read(tmp_path, GOOD).networks == []
    lists = GOOD[GOOD.index("objectives") : GOOD.index("[searchers.random]")]
    both = GOOD.replace(lists, "") + PROBLEM + PROBLEM.replace(":conv2", "").replace("edge", "cloud")
    assert read(tmp_path, both).networks == [["alexnet", "cloud", "edp"]]


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ('["loopnst"]', "reprice: unknown cost model 'loopnst'; did you mean 'loopnest'?"),
        ('["maestro"]', "reprice: expected another cost model than maestro"),
        ('["timeloop"]', "reprice: cost model 'timeloop' does not price the designs of maestro"),
        ('"loopnest"', "reprice must be a list of one or more names, got 'loopnest'"),
    ],
)
def test_a_model_that_cannot_price_the_winners_is_refused(tmp_path: Path, models: str, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        read(tmp_path, f"reprice = {models}\n" + GOOD)
    assert read(tmp_path, 'reprice = ["loopnest", "loopnest"]\n' + GOOD).showing == {"reprice": ["loopnest"]}


def test_a_problem_list_names_each_problem(tmp_path: Path) -> None:
    lists = GOOD[GOOD.index("objectives") : GOOD.index("[searchers.random]")]
    campaign = read(tmp_path, GOOD.replace(lists, "") + PROBLEM)
    assert [problem.label for problem in campaign.problems] == ["alexnet:conv2 on edge, edp"]


def test_a_problem_may_have_tiles_of_its_own(tmp_path: Path) -> None:
    lists = GOOD[GOOD.index("objectives") : GOOD.index("[searchers.random]")]
    other = PROBLEM.replace("conv2", "conv3")
    campaign = read(tmp_path, GOOD.replace(lists, "") + PROBLEM + 'tiles = "any"\n' + other)
    assert [named.problem.tiles for named in campaign.problems] == ["any", "factors"]
    with pytest.raises(InputError, match=r"problems\[1\]: alexnet:conv2 on edge, edp has another space"):
        read(tmp_path, GOOD.replace(lists, "") + PROBLEM + 'tiles = "any"\n' + PROBLEM)


def test_where_any_tiles_cannot_be_certified_the_best_perfect_factors_are_known(tmp_path: Path) -> None:
    lists = GOOD[GOOD.index("objectives") : GOOD.index("[searchers.random]")]
    power = PROBLEM.replace("edp", "power")
    (proven,) = optimum_figures(read(tmp_path, GOOD.replace(lists, "") + power)).values()
    (known,) = optimum_figures(read(tmp_path, GOOD.replace(lists, 'tiles = "any"\n') + power)).values()
    assert proven == {"status": "optimal", "lower_bound": proven["loss"], "loss": proven["loss"]}
    assert known == {"status": "bounded", "lower_bound": 0.0, "loss": proven["loss"]}


def test_what_others_compute_meanwhile_is_no_time_of_an_optimum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = GOOD[GOOD.index("objectives") : GOOD.index("[searchers.random]")]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("dse.campaign.reference.OPTIMUM_SECONDS", 1e-9)
    monkeypatch.setattr("time.process_time", lambda: 0.0)
    text = GOOD.replace(lists, "").replace('"maestro"', '"loopnest"') + PROBLEM
    (found,) = optimum_figures(read(tmp_path, text)).values()
    assert found["status"] == "optimal"


@pytest.mark.parametrize("model", ["loopnest", "maestro"])
def test_where_they_can_be_certified_their_own_optimum_is_known(tmp_path: Path, model: str) -> None:
    lists = GOOD[GOOD.index("objectives") : GOOD.index("[searchers.random]")]
    text = GOOD.replace(lists, 'tiles = "any"\n').replace('"maestro"', f'"{model}"') + PROBLEM
    (known,) = optimum_figures(read(tmp_path, text)).values()
    assert known["status"] == "optimal"
    assert known["lower_bound"] == known["loss"] > 0


def test_adding_a_searcher_changes_no_other_cell(tmp_path: Path) -> None:
    before = {named.key: named.cell.fingerprint for named in read(tmp_path, GOOD).cells()}
    after = {
        named.key: named.cell.fingerprint for named in read(tmp_path, GOOD + "[searchers.grid]\n").cells()
    }
    assert before.items() < after.items()


def test_files_are_found_beside_the_campaign_file(tmp_path: Path) -> None:
    network = '[[layers]]\nname = "one"\ntype = "GEMM"\nM = 8\nN = 16\nK = 32\n'
    (tmp_path / "net.toml").write_text('name = "net"\n' + network)
    campaign = read(tmp_path, GOOD.replace('"resnet18:3"', '"net.toml"'))
    assert any(problem.problem.layer.C == 32 for problem in campaign.problems)


def test_a_searcher_may_have_the_first_seeds_and_a_smaller_budget(tmp_path: Path) -> None:
    whole = {named.key: named for named in read(tmp_path, GOOD).cells()}
    campaign = read(tmp_path, GOOD + "seeds = 1\nbudget = 40\n")
    cells = {named.key: named for named in campaign.cells()}
    mine = {key for key, named in cells.items() if named.variant.name == "slow-walk"}
    assert len(mine) == 8
    assert {(cells[key].cell.seed, cells[key].cell.budget) for key in mine} == {(0, 40)}
    assert campaign.variants[1].searcher.n_walkers == 2
    assert campaign.limits == {"slow-walk": {"seeds": 1, "budget": 40}}
    others = {key: named.cell.fingerprint for key, named in cells.items() if key not in mine}
    assert others == {
        key: named.cell.fingerprint for key, named in whole.items() if named.variant.name == "random"
    }
    # A run with fewer samples is the beginning of the one with all.
    for key in mine:
        assert cells[key].cell.rng().integers(2**62) == whole[key].cell.rng().integers(2**62)


def test_limits_that_are_the_campaigns_own_change_nothing(tmp_path: Path) -> None:
    whole, same = read(tmp_path, GOOD), read(tmp_path, GOOD + "seeds = 2\nbudget = 100\n")
    assert same.limits == {}
    assert [named.cell.fingerprint for named in same.cells()] == [
        named.cell.fingerprint for named in whole.cells()
    ]


def test_the_reference_is_one_of_the_searchers(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD).showing == {}
    assert read(tmp_path, 'reference = "slow-walk"\n' + GOOD).showing == {"reference": "slow-walk"}


def test_what_reports_need_to_know_stands_in_the_campaign_or_in_files_that_it_names(tmp_path: Path) -> None:
    ratios = "ratios = { random = 3, slow-walk = 1.5 }"
    entry = f'source = "They"\nnetwork = "alexnet"\nobjective = "edp"\n{ratios}\n'
    look = '{ colour = "#0072b2", line = "dashed", marker = "^" }'
    (tmp_path / "ratios.toml").write_text(f"[[published]]\n{entry}")
    (tmp_path / "looks.toml").write_text(f"slow-walk = {look}\nanother = {look}\n")
    named = read(tmp_path, 'published = "ratios.toml"\nlooks = "looks.toml"\n' + GOOD)
    written = read(tmp_path, f"looks.slow-walk = {look}\n{GOOD}[[published]]\n{entry}")
    published = {"source": "They", "network": "alexnet", "objective": "edp"}
    expected = {
        "published": [published | {"ratios": {"random": 3.0, "slow-walk": 1.5}}],
        "looks": {"slow-walk": {"colour": "#0072b2", "line": "dashed", "marker": "^"}},
    }
    assert named.showing == written.showing == expected
    plain = read(tmp_path, GOOD)
    fingerprints = [[cell.cell.fingerprint for cell in one.cells()] for one in (plain, named)]
    assert fingerprints[0] == fingerprints[1]


LOOKS = 'looks = { random = { colour = "#ff0000", line = "solid", marker = "o" } }'
PUBLISHED = 'published = [{ source = "x", network = "n", objective = "edp", ratios = { a = 0 } }]'


SAID = PUBLISHED.replace("a = 0", "radnom = 2")


def test_a_file_of_what_is_published_says_nothing_else_and_something_of_this_campaign(tmp_path: Path) -> None:
    path, entry = tmp_path / "ratios.toml", SAID.replace('"n"', '"alexnet"').replace("radnom", "random")
    for text, message in (
        (f"{entry}\npublsihed = 1", "unknown key 'publsihed'"),
        (entry.replace("alexnet", "vgg16"), "no entry has a network, objective and searcher of campaign"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            read(tmp_path, f'published = "ratios.toml"\n{GOOD}')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("published = 3", "published must be one or more"),
        ("published = []", "published must be one or more"),
        (PUBLISHED, "must be a finite ratio above 0, got 0"),
        ('published = [{ source = "x" }]', r"published\[0\] lacks 'network', 'objective', 'ratios'"),
        ("looks = 3", "looks must be a table"),
        ('looks = "none.toml"', "none.toml' cannot be read"),
        (LOOKS.replace("#ff0000", "red"), "colour must be like '#0072b2'"),
        (LOOKS.replace('"o"', '"Q"'), "marker must be one of"),
        ('baseline = "wlak"', "unknown baseline 'wlak'"),
        (SAID, "unknown network 'n'.*expected one of alexnet, resnet18"),
        (SAID.replace('"n"', '"alexnet"').replace("edp", "energy"), "unknown objective 'energy'"),
        (SAID.replace('"n"', '"alexnet"'), "unknown searcher 'radnom'.*did you mean 'random'"),
        (LOOKS.replace("random", "radnom"), "unknown searcher 'radnom'"),
        ("looks = {}", "must have a table of a searcher"),
    ],
)
def test_what_reports_cannot_show_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, f"{text}\n{GOOD}")


@pytest.mark.parametrize("key", LIMITS)
def test_no_installed_searcher_has_a_setting_that_a_campaign_reads_as_its_own(key: str) -> None:
    for name in searchers():
        assert key not in [item.name for item in dataclasses.fields(searcher_class(name))]  # type: ignore[arg-type]


@pytest.mark.parametrize("key", LIMITS)
def test_a_plug_in_with_a_setting_of_that_name_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    made = dataclasses.make_dataclass(
        "Greedy", [(key, int, 3)], frozen=True, namespace={"search": lambda self, evaluate, rng: None}
    )
    monkeypatch.setattr(reading, "searcher_class", lambda name: made)
    with pytest.raises(InputError, match=f"'{key}' is a setting of searcher 'walk'") as error:
        read(tmp_path, GOOD + f"{key} = 2\n")
    assert "[searchers.slow-walk] of campaign" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("n_walkers = 2", "seeds = 3", r"slow-walk\] of .*: seeds must be at most the campaign's 2, got 3"),
        ("n_walkers = 2", "seeds = 0", r"slow-walk\] of .*: seeds must be at least 1, got 0"),
        ("n_walkers = 2", "seeds = true", "seeds must be a whole number, got True"),
        (
            "n_walkers = 2",
            "budget = 101",
            r"slow-walk\] of .*: budget must be at most the campaign's 100, got 101",
        ),
        ("n_walkers = 2", "budget = 50.0", "budget must be a whole number, got 50.0"),
        ("n_walkers = 2", "budgte = 50", "unknown key 'budgte'"),
        ("seeds = 2", 'seeds = 2\nreference = "wlak"', "unknown reference 'wlak' .*"),
        ("seeds = 2", "seeds = 2\nreference = 1", "reference must be text, got 1"),
        ("budget = 100", "budgte = 100", "unknown key 'budgte' .*did you mean 'budget'"),
        ("budget = 100", "", "lacks 'budget'"),
        ("budget = 100", "budget = 0", "budget must be at least 1, got 0"),
        ("budget = 100", "budget = nan", "budget must be a whole number"),
        ("seeds = 2", "seeds = 1.5", "seeds must be a whole number"),
        ('name = "small"', 'name = "../up"', "name must be letters"),
        ('"maestro"', '"maestor"', "unknown cost model 'maestor'.*did you mean 'maestro'"),
        ('"latency"', '"latnecy"', "unknown objective 'latnecy'.*did you mean 'latency'"),
        ('"edge"', '"egde"', "unknown accelerator 'egde'"),
        ('"resnet18:3"', '"resnet18:99"', "resnet18:99"),
        ('"resnet18:3"', "7", r"layers\[1\] must be a line of text, got 7"),
        ("[searchers.random]", "[searchers.rnadom]", "unknown searcher 'rnadom'.*did you mean 'random'"),
        (
            "n_walkers = 2",
            "n_wakers = 2",
            r"unknown key 'n_wakers' in \[searchers.slow-walk\].*did you mean 'n_walkers'",
        ),
        ("n_walkers = 2", 'n_walkers = "two"', "n_walkers must be"),
        ("[searchers.random]", f"{PROBLEM}[searchers.random]", "both 'problems' and 'layers'; keep one"),
        (
            "[searchers.random]",
            "[[problems]]\n[searchers.random]",
            r"problems\[0\] lacks 'layer', 'accelerator'",
        ),
        (
            "[searchers.random]",
            f"{PROBLEM}object = 1\n[searchers.random]",
            r"unknown key 'object' in campaign '.*': problems\[0\]; did you mean 'objective'",
        ),
        (
            "[searchers.random]",
            f"{PROBLEM}[searchers.random]".replace('"edge"', "3"),
            r"problems\[0\].accelerator must be a line of text, got 3",
        ),
        (
            "[searchers.random]",
            "[searchers]\nrandom = 3",
            "searchers.random must be a table of names",
        ),
        (
            "[searchers.random]",
            "problems = 1979-05-27\n[searchers.random]",
            r"one or more \[\[problems\]\] tables",
        ),
        ('name = "small"', "name = 1979-05-27", "name must be letters"),
        ("seeds = 2", f"seeds = 2\nseed = {2**63}", "seed must be at most what 64 bits hold"),
        ("seeds = 2", "seeds = ", "is not TOML"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(InputError, match=message) as error:
        read(tmp_path, GOOD.replace(old, new, 1))
    assert "\n" not in str(error.value)
    assert "campaign.toml" in str(error.value)


def test_a_campaign_without_searchers_is_refused(tmp_path: Path) -> None:
    text = GOOD[: GOOD.index("[searchers.random]")] + "[searchers]\n"
    with pytest.raises(InputError, match=r"must be one or more tables such as \[searchers.random\]"):
        read(tmp_path, text)


def test_the_cost_model_is_the_default_where_none_is_named(tmp_path: Path) -> None:
    campaign = read(tmp_path, GOOD.replace('cost_model = "maestro"\n', ""))
    assert campaign.cost_model == DEFAULT_COST_MODEL


def test_campaigns_that_come_along_are_found_by_name_wherever_the_user_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "quickstart" in named_campaigns()
    for name, path in named_campaigns().items():
        assert load_campaign(campaign_path(name), find_layers).name == name
        assert campaign_path(name) == path
    (tmp_path / "quickstart").write_text("my own")
    assert campaign_path("quickstart") == "quickstart"
    assert campaign_path("absent.toml") == "absent.toml"
    with pytest.raises(InputError, match="unknown campaign 'quikstart'; did you mean 'quickstart'"):
        campaign_path("quikstart")
