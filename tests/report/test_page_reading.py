"""How the report's page is read: the answer first, the rest folded but findable, whole on a telephone too."""

from __future__ import annotations

import itertools
import re

import pytest

from tests.report import browser as driving
from tests.report.browser import Browser
from tests.report.conftest import Pages

pytestmark = pytest.mark.skipif(bool(driving.missing()), reason=driving.missing())

DESK, TELEPHONE = (1280, 800), (390, 844)
BOTTOM = "return document.querySelector(arguments[0]).getBoundingClientRect().bottom"
VISIBLE = "return document.querySelector(arguments[0]).checkVisibility({ contentVisibilityAuto: true })"
OPEN = "return [...document.querySelectorAll('details[open]')].map(part => part.id).sort()"


@pytest.fixture
def many(window: Browser, pages: Pages) -> Browser:
    """The page of a campaign of fourteen searchers, just loaded."""
    window.begin(pages.many)
    return window


# The answer


@pytest.mark.parametrize(("which", "width", "height"), [("plain", *TELEPHONE), ("many", *DESK)])
def test_the_first_screen_says_who_won_by_how_much_and_how_sure(
    window: Browser, pages: Pages, which: str, width: int, height: int
) -> None:
    page = window
    page.begin(getattr(pages, which), width, height)
    for part in ("h1", ".headline", "#answer"):
        assert 0 < page.run(BOTTOM, part) <= height, part
    cells = page.run("return [...document.querySelectorAll('#answer tbody tr')].map(row => row.innerText)")
    assert 3 <= len(cells) <= 6
    values = [
        float(found[1])
        for found in (re.search(r"\s(\d\.\d+)\s+(\d\.\d+ to \d\.\d+)", cell) for cell in cells)
        if found
    ]
    assert len(values) == len(cells)
    assert values == sorted(values)


def test_whom_the_first_screen_leaves_out_is_counted_and_a_click_away(many: Browser) -> None:
    shown = many.run("return document.querySelectorAll('#answer tbody tr').length")
    assert many.run("return document.querySelector('.rest').innerText").startswith(f"{14 - shown} others: ")
    many.click(".rest a")
    assert many.run("return document.getElementById('standing-fold').open") is True
    assert many.run("return document.querySelectorAll('table.standing tbody tr').length") == 14


@pytest.mark.parametrize(("which", "width", "height"), [("plain", *DESK), ("many", *TELEPHONE)])
def test_a_page_that_nobody_has_unfolded_is_three_screens_high(
    window: Browser, pages: Pages, which: str, width: int, height: int
) -> None:
    page = window
    page.begin(getattr(pages, which), width, height)
    assert page.run("return document.documentElement.scrollHeight") < 3 * height


# What is folded


def test_what_a_reader_opens_stays_open_whatever_is_chosen_and_when_the_page_is_loaded_again(
    page: Browser, pages: Pages
) -> None:
    before = page.run(OPEN)
    for fold in ("#mappings-fold", "#mapping-1-text", "#tables-fold", "#table-1-fold"):
        page.click(f"{fold} > summary")
    opened = sorted({*before, "mappings-fold", "mapping-1-text", "tables-fold", "table-1-fold"})
    assert page.run(OPEN) == opened
    page.run("""for (const name of ['select[data-filter=objective]', '#which']) {
        const one = document.querySelector(name);
        one.selectedIndex = 2;
        one.dispatchEvent(new Event('change'));
    }""")
    assert page.run(OPEN) == opened
    page.command("Page.printToPDF")
    page.wait_until("return !document.querySelector('[data-printed]')")
    assert page.run(OPEN) == opened
    page.click("#curves-fold > summary")
    left = sorted({*opened} - {"curves-fold"})
    assert page.run(OPEN) == left
    page.open(pages.plain)
    assert page.run(OPEN) == left


def test_all_is_unfolded_at_a_click_and_folded_at_another(page: Browser) -> None:
    page.click("[data-open=all]")
    page.wait_until("return !document.querySelector('details:not([open])')")
    page.run("scrollTo(0, 0)")
    page.click("[data-open=all]")
    page.wait_until("return !document.querySelector('details[open]')")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_link_unfolds_what_it_leads_to(window: Browser, pages: Pages, scripts: bool) -> None:
    page = window
    page.command("Emulation.setScriptExecutionDisabled", value=not scripts)
    try:
        page.begin(pages.plain)
        assert page.run(VISIBLE, "#provenance") is False
        page.click("nav a[href='#provenance']")
        page.wait_until("return document.getElementById('provenance').checkVisibility()")
        assert page.run("return document.getElementById('provenance').getBoundingClientRect().top") < 800
    finally:
        page.command("Emulation.setScriptExecutionDisabled", value=False)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("marl-10", "#table-1"),
        ("SHA-256 of the fingerprints of all runs", "#provenance"),
        ("on edge, edp", "#mapping-2"),
    ],
)
def test_the_browsers_own_search_finds_what_is_folded(
    page: Browser, pages: Pages, text: str, where: str
) -> None:
    assert page.run(VISIBLE, where) is False
    # What a text fragment leads to is found as by Ctrl-F.
    page.visit("about:blank")
    page.visit(
        f"{pages.plain.as_uri()}#:~:text={text.replace('-', '%2D').replace(',', '%2C').replace(' ', '%20')}"
    )
    page.wait_until(f"return document.querySelector('{where}').checkVisibility()")


def test_paper_shows_what_is_folded_without_scripts_too(window: Browser, pages: Pages) -> None:
    page = window
    page.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.begin(pages.plain)
        hidden = """return ['#table-1', '#provenance', '#mapping-2 .nest']
            .filter(name => !document.querySelector(name).checkVisibility())"""
        assert len(page.run(hidden)) == 3
        page.command("Emulation.setEmulatedMedia", media="print")
        assert page.run(hidden) == []
    finally:
        page.command("Emulation.setEmulatedMedia", media="")
        page.command("Emulation.setScriptExecutionDisabled", value=False)


# Curves


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_curves_of_the_best_so_far_have_level_and_upright_parts_alone(many: Browser, scale: str) -> None:
    many.run(f"document.querySelector('[data-axis=x][data-scale={scale}]').click()")
    many.unfold("#each-fold")
    many.run("document.querySelector('.grid').scrollIntoView()")
    many.wait_until("return document.querySelectorAll('path.curve').length === 3 * 14")
    for kind in ("curve", "band"):
        paths = many.run(
            f"return [...document.querySelectorAll('path.{kind}')].map(path => path.getAttribute('d'))"
        )
        assert len(paths) == 3 * 14
        assert sum(path.count("H") for path in paths) > 10 * len(paths)
        assert [path for path in paths if not re.fullmatch(r"M[-\d.]+,[-\d.]+([HV][-\d.]+)*Z?", path)] == []


def test_the_value_read_between_two_samples_is_that_of_the_step_there(page: Browser) -> None:
    data = page.run("return JSON.parse(document.getElementById('data').textContent)")
    page.run("document.querySelector('figure.chart[data-chart=over]').scrollIntoView()")
    page.wait_until(
        "return document.querySelectorAll('figure.chart[data-chart=over] path.curve').length === 3"
    )
    page.hover("figure.chart[data-chart=over] svg", 0.6, 0.5)
    said = page.run(
        "return document.querySelector('figure.chart[data-chart=over] .tip').innerText"
    ).splitlines()
    samples = int(said[0].removeprefix("after ").removesuffix(" samples"))
    for place, searcher in enumerate(data["searchers"]):
        at, centre = data["over"][0]["curves"][str(place)][:2]
        step = max(i for i, one in enumerate(at) if one <= samples)
        (line,) = (line for line in said if line.startswith(f"{searcher['name']}\t"))
        assert float(line.split("\t")[1]) == pytest.approx(centre[step], abs=5e-4)


# A telephone


@pytest.mark.parametrize("which", ["plain", "many"])
def test_on_a_telephone_nothing_is_cut_and_nothing_goes_sideways(
    window: Browser, pages: Pages, which: str
) -> None:
    page = window
    page.begin(getattr(pages, which), *TELEPHONE)
    page.unfold()
    assert page.run("return document.documentElement.scrollWidth") == TELEPHONE[0]
    sideways = """return [...document.querySelectorAll('body *')]
        .filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1)
        .filter(e => ['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(e).overflowX))
        .filter(e => !e.closest('.hush') && !['SELECT', 'svg'].includes(e.tagName))
        .map(e => e.outerHTML.slice(0, 90))"""
    assert page.run(sideways) == []
    beyond = """return [...document.querySelectorAll('body *')].filter(e => !e.closest('.hush, .curves'))
        .filter(e => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 0.5)
        .map(e => e.outerHTML.slice(0, 90))"""
    assert page.run(beyond) == []


@pytest.mark.parametrize("width", [TELEPHONE[0], DESK[0]])
def test_every_chart_names_its_curves_inside_the_window(window: Browser, pages: Pages, width: int) -> None:
    many = window
    many.begin(pages.many, width)
    many.unfold("#each-fold")
    for chart in ("over", "0", "1"):
        host = f"figure.chart[data-chart='{chart}']"
        many.run(f'document.querySelector("{host}").scrollIntoView()')
        many.wait_until(f'return document.querySelectorAll("{host} .names text").length === 14')
        boxes = many.run(f"""return [...document.querySelectorAll("{host} .names text")].map(one => {{
            const box = one.getBoundingClientRect();
            return [box.left, box.right, box.top];
        }})""")
        assert all(0 <= left < right <= width for left, right, _ in boxes)
        tops = sorted(top for _, _, top in boxes)
        assert min(b - a for a, b in itertools.pairwise(tops)) > 10


def test_words_in_figures_can_be_read_on_a_telephone(many: Browser) -> None:
    many.resize(*TELEPHONE)
    many.unfold("#figures")
    sizes = many.run("""return [...document.querySelectorAll('#figures .paper svg')].map(drawing =>
        [...drawing.querySelectorAll('text')].map(text => text.getBoundingClientRect().height))""")
    assert len(sizes) == 3
    assert all(min(heights) > 7 for heights in sizes)


# Bars


@pytest.mark.parametrize(("width", "height"), [DESK, TELEPHONE])
def test_what_stays_when_the_page_is_scrolled_is_at_most_60_pixels_high(
    many: Browser, width: int, height: int
) -> None:
    many.resize(width, height)
    many.unfold()
    many.run("scrollTo(0, document.documentElement.scrollHeight / 2)")
    bars = many.run("""return [...document.querySelectorAll('body *')]
        .filter(e => ['sticky', 'fixed'].includes(getComputedStyle(e).position) && !e.closest('table'))
        .map(e => e.getBoundingClientRect()).filter(box => box.bottom > 0 && box.top < innerHeight)
        .map(box => box.height)""")
    assert sum(bars) <= 60
    assert len(bars) == (1 if width == DESK[0] else 0)
