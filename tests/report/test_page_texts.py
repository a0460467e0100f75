"""Pages of old and damaged folders, and names from outside in pages."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from dse.analysis.analysis import analyse_study
from dse.analysis.findings import Findings
from dse.analysis.study import Study, make_problems
from dse.report.page.commands import campaign_toml
from tests.report.page_cases import nasty
from tests.report.page_texts_cases import FC_EDP, Parsed
from tests.report.rendering import render_page


def without(study: Study, *keys: str) -> Study:
    """The study as an older version would have written it."""
    return replace(study, about={key: value for key, value in study.about.items() if key not in keys})


def test_a_folder_of_an_older_version_gets_a_page_that_says_what_is_not_kept(
    study: Study, findings: Findings
) -> None:
    old = without(study, "settings", "definitions", "runs", "templates", "optima", "versions")
    page = Parsed(render_page(old, findings))
    assert page.text.count("This folder does not say what the problem was in full") == len(study.problems)
    assert page.text.count("settings not kept") == len(study.searchers)
    assert page.text.count("optimum not known") == len(study.problems)
    assert campaign_toml(old, make_problems(old)) is None


def test_what_a_damaged_folder_says_of_a_problem_ends_in_a_sentence(study: Study, findings: Findings) -> None:
    definitions = {**study.about["definitions"], study.label(FC_EDP): {"layer": 7}}
    cells = tuple(replace(cell, genes=[999] * 13) for cell in study.summaries)
    page = render_page(
        replace(study, about={**study.about, "definitions": definitions}, summaries=cells), findings
    )
    assert page.count("What this folder says of the problem cannot be read") == 1
    assert page.count("The mapping cannot be read from this folder") == len(study.problems) - 1


def test_a_problem_without_a_feasible_mapping_says_so(study: Study, findings: Findings) -> None:
    nothing = {step: [] for step in study.summaries[0].steps}
    cells = [
        replace(cell, steps=nothing, genes=[]) if cell.objective == "edp" else cell
        for cell in study.summaries
    ]
    hollow = replace(study, summaries=tuple(cells))
    page = Parsed(render_page(hollow, analyse_study(hollow, resamples=20)))
    assert page.text.count("No run has found a feasible mapping.") == 2
    assert "nan" not in page.text.lower().split()


def test_a_campaign_with_one_finished_cell_has_a_page(study: Study) -> None:
    first = replace(study, summaries=study.summaries[:1])
    page = Parsed(render_page(first, analyse_study(first, resamples=20)))
    assert "1 of 36 done" in page.text
    assert page.text.count("No run has found a feasible mapping.") == 3


# What it lets in and out


def test_names_from_outside_are_text_and_never_markup(study: Study, rendered: str) -> None:
    bad = nasty(study)
    bad = replace(bad, about=bad.about | {"failed": {"<b>it</b> & co": "<i>thin</i>"}})
    page = render_page(bad, analyse_study(bad, resamples=20))
    parsed = Parsed(page)
    plain = Parsed(rendered)
    assert {tag for tag, _ in parsed.elements} <= {tag for tag, _ in plain.elements} | {"wbr"}
    assert [tag for tag, _ in parsed.elements].count("script") == 2  # The data, and the script.
    assert not [name for _, attributes in parsed.elements for name in attributes if name.startswith("on")]
    for said in (bad.name, *bad.searchers, *(problem[0] for problem in bad.problems), "<b>it</b> & co"):
        assert said in parsed.text, said


def test_the_page_loads_nothing_and_its_links_stay_beside_it(study: Study, findings: Findings) -> None:
    page = Parsed(render_page(study, findings, linked=["tables/reduction.csv"]))
    assert not page.all("src")
    for link in page.all("href"):
        assert re.match(r"#|data:|tables/", link), link
    targets = {link[1:] for link in page.all("href") if link.startswith("#")}
    assert targets <= set(page.all("id"))


def test_ids_are_on_the_page_once(study: Study, findings: Findings) -> None:
    drawn = '<svg><defs><clipPath id="p1"/></defs><g id="axes_1" clip-path="url(#p1)"/></svg>'
    ids = Parsed(render_page(study, findings, {"one": drawn, "two": drawn})).all("id")
    assert sorted(ids) == sorted(set(ids))


def test_the_policy_allows_this_script_and_nothing_from_a_network(rendered: str) -> None:
    page = rendered
    policy = next(text for text in Parsed(page).all("content") if "default-src" in text)
    start = page.index("<script>") + len("<script>")
    script = page[start : page.index("</script>", start)]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}';" in policy
    assert "http" not in policy


def test_the_page_s_parts_are_installed_with_the_package() -> None:
    import tomllib

    patterns = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["*"]
    for part in files("dse.report.page").iterdir():
        name = Path(part.name)
        assert name.suffix in ("", ".py") or any(name.match(pattern) for pattern in patterns), name
