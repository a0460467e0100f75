"""README and docs: what they link to is there, and what they show runs."""

from __future__ import annotations

import re
import runpy
import shlex
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from typer import Context

from dse.cli.application import build_application
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.api import search
from dse.search.searcher import searcher_class
from dse.support import strict_yaml
from learners.d4pg import D4PG
from learners.maddpg import MADDPG
from learners.masac import MASAC
from learners.mst import Pretraining
from learners.qmix import QMIX
from learners.sparse import Sparsity
from tests import ROOT
from tests.conftest import Dse
from workloads import load_layer
from workloads.models.onnx_functions import MAX_OPERATORS

PAGES = sorted(
    page.relative_to(ROOT).as_posix()
    for folder in (".", "docs", "results", "results/*")
    for page in ROOT.glob(f"{folder}/*.md")
)
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")
STUDIES = dict(
    part.split("\n", 1)
    for part in (ROOT / "results" / "README.md").read_text(encoding="utf-8").split("\n## ")[1:]
)
"""The studies of results, by title."""
RESAMPLED = ", of problems like these"
GOALS = {
    "The final twelve": {"1.25", "1.15", "1.05", "1.02", "1.01"},
    "Unseen problems": {"1.15", "1.06", "1.03", "1.015", "1.005", "1.001"},
}
"""What was hoped for, by study; all other figures are found."""
INTERVAL = re.compile(r"-?\d[\d.]*(?: %)? \[[-+]?[\d.]+, [-+]?[\d.]+\]")
"""A figure with its interval."""


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_file_of_the_repository(page: str) -> None:
    there = (ROOT / page).parent
    links = LINK.findall((ROOT / page).read_text(encoding="utf-8"))
    assert [link for link in links if not (there / link).exists()] == []


def test_no_link_of_the_site_leads_out_of_it() -> None:
    hooks = runpy.run_path(str(ROOT / "docs" / "hooks.py"))
    pages = [page.read_text(encoding="utf-8") for page in ROOT.glob("docs/*.md")]
    site = "".join(hooks["on_page_markdown"](re.sub("<!--.*?-->", "", page)) for page in pages)
    assert re.findall(r"\]\((\.\./[^)]*)\)", site) == []


def shown_commands(page: str) -> list[str]:
    """The lines of a page that call `dse` or a module; `$` is before those whose output follows."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks: list[tuple[str, str]] = re.findall(r"^```(.*)\n((?:.*\n)*?)```$", text, re.MULTILINE)
    shown = [line for language, block in blocks if not language for line in block.splitlines()]
    return [line for line in shown if re.match(r"(\$ )?(dse [a-z]|python -m )", line)]


@pytest.mark.parametrize("page", ["README.md", *(page for page in PAGES if page.startswith("docs/"))])
def test_every_command_that_is_shown_takes_its_options(page: str) -> None:
    known = build_application().commands
    lines = [line.removeprefix("$ ") for line in shown_commands(page)]
    for _, name, *options in (shlex.split(line, comments=True) for line in lines if line.startswith("dse ")):
        # One that it does not know is an error.
        known[name].make_parser(Context(known[name])).parse_args(options)


def test_every_command_is_described() -> None:
    known = set(build_application().commands)
    text = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("docs/*.md"))
    assert known - set(re.findall(r"\bdse ([a-z-]+)", text)) == set()


@pytest.mark.parametrize("page", ["README.md", *(page for page in PAGES if page.startswith("docs/"))])
def test_every_link_to_a_part_of_a_page_leads_to_its_title(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for file, part in re.findall(r"\]\((?!https?://)([^)#\s]*\.md)?#([^)\s]+)\)", text):
        there = (ROOT / page).parent / file if file else ROOT / page
        titles = re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), re.MULTILINE)
        assert part in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}, part


@pytest.mark.parametrize("page", ["README.md", *(page for page in PAGES if page.startswith("docs/"))])
def test_settings_of_searchers_are_shown_by_their_present_names(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    shown = [
        (table.get("type", name), key)
        for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
        for name, table in tomllib.loads(block).get("searchers", {}).items()
        for key in set(table) - {"type", "seeds", "budget", "start"}
    ]
    for name, settings in re.findall(r"--searcher (\S+)((?: --set \w+=\S+)+)", text):
        shown += [(name, key) for key in re.findall(r"--set (\w+)=", settings)]
    assert [one for one in shown if one[1] not in searcher_class(one[0]).__dataclass_fields__] == []


def test_the_learners_that_are_shown_can_be_made() -> None:
    text = (ROOT / "docs" / "learners.md").read_text(encoding="utf-8")
    known = {made.__name__: made for made in (MADDPG, MASAC, D4PG, QMIX, Pretraining, Sparsity)}
    shown = re.findall(rf"\b(?:{'|'.join(known)})\((?:[^()]|\([^()]*\))*\)", text)
    assert len(shown) > 6
    for each in shown:
        eval(each, dict(known))


def test_the_searcher_that_is_shown_improves_on_its_first_points(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    shown = page[page.index("## A searcher") :]
    (tmp_path / "climb.py").write_text(re.findall(r"```python\n(.*?)```", shown, re.DOTALL)[0])
    climb = runpy.run_path(str(tmp_path / "climb.py"))["Climb"]
    problem = Problem(load_layer("resnet18:3"), PRESETS["edge"], "edp")
    found = search(problem, climb(walkers=8), budget=400)
    losses = found.record.evaluations().loss
    assert len(losses) == 400
    assert found.best is not None
    assert found.best.loss < losses[:8].min()


def test_the_limits_of_files_that_are_shown_are_those_of_their_readers() -> None:
    text = " ".join((ROOT / "docs" / "files.md").read_text(encoding="utf-8").split())
    values, depth = f"{strict_yaml.MAX_NODES:,} values", f"a depth of {strict_yaml.MAX_DEPTH}"
    for limit in (f"{strict_yaml.MAX_LETTERS >> 20} MiB", values, depth, f"{MAX_OPERATORS:,} operators"):
        assert limit in text


def outputs(page: str) -> list[tuple[str, list[str]]]:
    """The commands of a page with what it shows of their output; where it stops, `...` or nothing stands."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(r"^\$ dse ([^\n]*)\n(.*?)^(?=```|\$)", text, re.DOTALL | re.MULTILINE)
    return [(asked, [line for line in shown.splitlines() if line.strip(". ")]) for asked, shown in found]


def write_files(folder: Path) -> None:
    """The files that the tutorial has its reader write: blocks that begin with `# NAME`."""
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    for name, content in re.findall(r"```(?:toml|python)\n# (\S+)\n(.*?)```", text, re.DOTALL):
        (folder / name).write_text(content, encoding="utf-8")


def printed_line(line: str) -> str:
    """A line with single spaces, and without what it says of the time taken."""
    return re.sub(r"\b[\d.,]+ (CPU )?s\b", "some s", " ".join(line.split()))


def check_output(dse: Dse, asked: str, shown: list[str]) -> None:
    """Every line that is shown is printed, in this order."""
    printed = [printed_line(line) for line in dse(*shlex.split(asked)).out.splitlines()]
    for line in shown:
        assert printed_line(line) in printed
        del printed[: printed.index(printed_line(line)) + 1]


@pytest.mark.parametrize(("asked", "shown"), [*outputs("README.md")[:1], *outputs("docs/tutorial.md")[:1]])
def test_the_pages_show_what_commands_print(
    dse: Dse, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, asked: str, shown: list[str]
) -> None:
    """`prove_docs.py` runs the others, which take longer."""
    for name in ("examples", "experiments", "results", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # a proof that was kept says so
    assert len(shown) > 3
    check_output(dse, asked, shown)


def told(study: str) -> str:
    """The files that a study names, without what stands there once more with problems resampled too."""
    links = [link for link in LINK.findall(study) if link.endswith(".md") and not link.startswith("../")]
    files = [ROOT / "results" / link for link in links]
    kept = []
    for file in files:
        parts = re.split(r"^## ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
        titles = {part.split("\n", 1)[0] for part in parts}
        kept += [part for part in parts if part.split("\n", 1)[0] + RESAMPLED not in titles]
    return "\n".join(kept)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("| ").split(" | ")]


def test_the_page_of_results_has_the_verdict_of_each_study_in_its_words() -> None:
    lines = (ROOT / "docs" / "results.md").read_text(encoding="utf-8").splitlines()
    shown = [cells(line) for line in lines if line.startswith("| [")]
    assert [title[1:].split("](")[0] for title, _ in shown] == [*STUDIES]
    for (_, verdict), study in zip(shown, STUDIES.values(), strict=True):
        assert verdict == " ".join(study.split("**")[1].split())


@pytest.mark.parametrize("title", [*STUDIES])
def test_the_tables_of_results_are_those_of_the_files_that_a_study_names(title: str) -> None:
    study = STUDIES[title]
    there = [cells(line) for line in told(study).splitlines()]
    rows = [cells(line) for line in study.splitlines() if line.startswith("| ")][1:]
    shown = [row for row in rows if set(row) != {"---"} and "---:" not in row]
    assert len(shown) > 1
    # Columns may be left out, figures may not differ.
    assert [row for row in shown if not any(row[0] == own[0] and set(row) <= set(own) for own in there)] == []


@pytest.mark.parametrize("title", [*STUDIES])
def test_every_figure_of_a_verdict_is_in_a_file_that_it_names(title: str) -> None:
    there = told(STUDIES[title])
    prose = " ".join(line for line in STUDIES[title].splitlines() if not line.startswith("|"))
    assert [shown for shown in INTERVAL.findall(" ".join(prose.split())) if shown not in there] == []
    plain = re.sub(r"\]\([^)]*\)|`[^`]*`|\[[^]]*\]|\b\d[\d.]*\.\d+\.\d+|arXiv:[\d.]+", "", prose)
    goals = GOALS.get(title, set())
    assert [n for n in re.findall(r"\d+\.\d+", plain) if n not in there and n not in goals] == []


@pytest.mark.parametrize("title", [*STUDIES])
def test_a_verdict_of_results_is_short(title: str) -> None:
    text = [line for line in STUDIES[title].splitlines() if not line.startswith("|")]
    assert len(" ".join(text).split()) <= 300


def test_the_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert "budget=500" in code
    exec(compile(code.replace("budget=500", "budget=100"), "README.md", "exec"), {})
    ratio, status = capsys.readouterr().out.splitlines()[0].split()
    assert status == "optimal"
    assert 1 <= float(ratio) < 1.1


def test_the_mapping_that_is_priced_in_python_costs_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text("utf-8"), re.DOTALL)
    exec(compile(code, "python.md", "exec"), {})
    assert capsys.readouterr().out.strip() == code.rpartition("# ")[2].strip()


def test_the_readme_counts_the_searchers_that_come_along() -> None:
    ours = [entry for entry in entry_points(group="dse.searchers") if entry.value.startswith("searchers.")]
    words = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"{len({entry.name for entry in ours})} searchers compete" in words


def test_the_site_shows_the_help_of_every_command() -> None:
    hooks = runpy.run_path(str(ROOT / "docs" / "hooks.py"))
    page = hooks["on_page_markdown"]((ROOT / "docs" / "command-line.md").read_text(encoding="utf-8"))
    for name in build_application().commands:
        assert f"## dse {name}\n" in page


def test_every_reason_is_explained_as_the_program_explains_it() -> None:
    hooks = runpy.run_path(str(ROOT / "docs" / "hooks.py"))
    page = hooks["on_page_markdown"]((ROOT / "docs" / "cost-models.md").read_text(encoding="utf-8"))
    for reason in list(Reason)[1:]:
        meaning = "" if reason.meaning == reason.text else reason.meaning
        assert f"| {reason.label} | {reason.text} | {meaning} |" in page


def test_the_cost_function_that_is_shown_prices_and_refuses(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "cost-models.md").read_text(encoding="utf-8")
    shown = page[page.index("A function, by the path of its file") :]
    (tmp_path / "my_costs.py").write_text(re.findall(r"```python\n(.*?)```", shown, re.DOTALL)[0])
    problem = Problem(load_layer("resnet18:3"), PRESETS["edge"], "edp", f"{tmp_path}/my_costs.py:price")
    found = search(problem, "random", budget=200)
    assert found.best is not None
    assert 0 < found.refusals[Reason.REFUSED] < 200


def test_the_readme_has_the_lines_for_slurm_that_are_tested() -> None:
    pages = [(ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/cluster.md")]
    lines = [re.findall(r"```py(?:thon)?\n([^`]*# workers\.py\n[^`]*)```", page) for page in pages]
    assert lines[0] == lines[1]
    assert len(lines[0]) == 1


@pytest.mark.parametrize("command", ["make quickstart", "make test"])
def test_the_readme_says_the_two_commands_that_do_all_the_set_up(command: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"^{command}\b", readme, re.MULTILINE)
    assert f"\n{command.removeprefix('make ')}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
