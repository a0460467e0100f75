"""The report's page in a real browser: sorting, copying, narrow windows, the dark, paper, and no script."""

from __future__ import annotations

import base64
import json

import pytest

from tests.report import browser as driving
from tests.report.browser import ENTER, RIGHT, SPACE, Browser
from tests.report.conftest import Pages

pytestmark = pytest.mark.skipif(bool(driving.missing()), reason=driving.missing())

NAMES, LOSSES, SEEDS = (f"#table-1 th:nth-child({place}) button" for place in (1, 2, 3))


@pytest.fixture
def tabled(page: Browser) -> Browser:
    """The plain page with its first table unfolded."""
    page.unfold("#table-1")
    return page


def column(page: Browser, place: int) -> list[str]:
    script = (
        "return [...document.querySelectorAll('#table-1 tbody tr')].map(r => r.cells[arguments[0]].innerText)"
    )
    found: list[str] = page.run(script, place)
    return found


def sorted_by(page: Browser) -> list[str | None]:
    """`aria-sort` of every column."""
    script = """return [...document.querySelectorAll('#table-1 th[scope=col]')]
        .map(h => h.getAttribute('aria-sort'))"""
    found: list[str | None] = page.run(script)
    return found


# Sorting


def test_a_click_sorts_by_number_and_another_the_other_way_with_what_has_none_last(tabled: Browser) -> None:
    tabled.click(LOSSES)
    assert column(tabled, 1) == ["1.5e-3", "2.5", "10 [9, 11]", "infeasible", "-"]
    assert column(tabled, 0)[:3] == ["marl-9", "marl-10", "<b>cem</b>"]
    assert sorted_by(tabled) == [None, "ascending", None]
    tabled.click(LOSSES)
    assert column(tabled, 1) == ["10 [9, 11]", "2.5", "1.5e-3", "infeasible", "-"]
    assert sorted_by(tabled) == [None, "descending", None]


def test_thousands_are_numbers_and_names_sort_by_the_numbers_in_them(tabled: Browser) -> None:
    tabled.click(SEEDS)
    assert column(tabled, 2) == ["1", "2", "3", "10", "1,000"]
    tabled.click(NAMES)
    assert column(tabled, 0) == ["<b>cem</b>", "marl-9", "marl-10", "ppo", "walk"]
    assert sorted_by(tabled) == ["ascending", None, None]


@pytest.mark.parametrize("key", [ENTER, SPACE])
def test_the_keyboard_sorts_as_a_click_does_and_the_change_is_announced(
    tabled: Browser, key: tuple[str, int, str]
) -> None:
    tabled.press(LOSSES, key)
    assert sorted_by(tabled) == [None, "ascending", None]
    assert tabled.run("return document.getElementById('status').textContent") == "Sorted by loss, rising"
    assert tabled.run("return document.activeElement.innerText") == "loss"


def test_every_control_is_reached_by_tab(page: Browser) -> None:
    controls = "a[href], button, summary, [tabindex='0']"
    odd = "return [...document.querySelectorAll(arguments[0])].filter(e => e.tabIndex !== 0).length"
    assert page.run(odd, controls) == 0
    assert page.run("return document.querySelectorAll('button').length") > 20


# Copying


def test_copying_puts_the_very_text_on_the_clipboard_and_says_so(page: Browser) -> None:
    page.command("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    page.unfold("#cards")
    for part, label in (("json", "JSON"), ("maestro", "MAESTRO text"), ("check", "check command")):
        button = f"[data-copy=mapping-1-{part}]"
        page.click(button)
        page.wait_for(button, "Copied")
        copied = page.run("return navigator.clipboard.readText()")
        assert copied == page.run(f"return document.getElementById('mapping-1-{part}').textContent")
        assert page.run("return document.getElementById('status').textContent") == f"Copied {label}"
    page.click("[data-copy=mapping-1-json]")
    page.wait_for("[data-copy=mapping-1-json]", "Copied")
    assert json.loads(page.run("return navigator.clipboard.readText()"))["cluster_size"] > 0


def test_copying_works_where_the_browser_has_no_clipboard_for_files(page: Browser) -> None:
    page.command("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    page.run("window.real = navigator.clipboard; return real.writeText('before')")
    page.run("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.run("location.hash = '#mapping-2'")
    page.wait_until("return document.getElementById('mapping-2').offsetHeight > 0")
    page.click("[data-copy=mapping-2-json]")
    page.wait_for("[data-copy=mapping-2-json]", "Copied")
    copied = page.run("return real.readText()")
    assert copied == page.run("return document.getElementById('mapping-2-json').textContent")
    assert page.run("return document.querySelectorAll('textarea').length") == 0
    assert page.run("return document.activeElement.dataset.copy") == "mapping-2-json"


def test_where_nothing_can_be_copied_the_text_is_shown_and_selected(page: Browser) -> None:
    page.run(
        "Object.defineProperty(navigator, 'clipboard', {value: undefined});document.execCommand = () => false"
    )
    page.unfold("#cards")
    page.click("[data-copy=mapping-1-maestro]")
    page.wait_for("[data-copy=mapping-1-maestro]", "Selected: press Ctrl+C")
    assert page.run("return getSelection().toString()").startswith("Network mapping {")
    assert page.run("return document.getElementById('mapping-1-maestro').closest('details').open") is True


# Charts and filters

CURVES = "document.querySelectorAll('figure.chart[data-chart=over] path.curve').length"


def show_chart(page: Browser) -> None:
    page.run("document.querySelector('figure.chart[data-chart=over]').scrollIntoView()")
    page.wait_until(f"return {CURVES} === 3")


def test_a_click_on_a_searcher_hides_its_curves_and_its_rows_and_another_shows_them(page: Browser) -> None:
    show_chart(page)
    rows = "return document.querySelectorAll('table.standing tbody tr:not([hidden])').length"
    page.run("scrollTo(0, document.querySelector('.controls').offsetTop - 80)")
    page.click("[data-key='1']")
    page.wait_until(f"return {CURVES} === 2")
    assert page.run(rows) == 2
    assert page.run("return document.querySelector(\"[data-key='1']\").ariaPressed") == "false"
    page.click("[data-key='1']")
    page.wait_until(f"return {CURVES} === 3")
    assert page.run(rows) == 3


def test_a_filter_leaves_its_problems_in_charts_cards_and_the_standing(page: Browser) -> None:
    show_chart(page)
    before = page.run("return document.querySelector('table.standing tbody').textContent")
    page.run("""const one = document.querySelector('select[data-filter=objective]');
        one.value = 'edp'; one.dispatchEvent(new Event('change'))""")
    shown = "return [...document.querySelectorAll('.grid .chart:not([hidden]) .on')].map(e => e.textContent)"
    assert page.run(shown) == ["on edge, edp"] * 2
    assert page.run("return document.getElementById('scope').textContent") == "2 of 4 problems chosen."
    assert page.run("return document.getElementById('over').textContent") == "Over 2 of 4 problems"
    assert page.run("return document.querySelector('#cards > :not([hidden]) .on').textContent").endswith(
        "edp"
    )
    assert page.run("return document.querySelector('table.standing tbody').textContent") != before


def test_arrow_keys_read_a_charts_values_and_say_them(page: Browser) -> None:
    show_chart(page)
    page.press("figure.chart[data-chart=over] svg", RIGHT)
    said = page.run("return document.getElementById('status').textContent")
    assert "samples: " in said
    assert "walk" in said
    tip = "return document.querySelector('figure.chart[data-chart=over] .tip').innerText"
    assert page.run(tip).startswith("after ")


@pytest.mark.parametrize("width", [390, 1280])
def test_the_mouse_reads_the_values_under_it_and_the_nearest_curve_stands_out(
    page: Browser, width: int
) -> None:
    page.resize(width)
    show_chart(page)
    place = "document.querySelector('figure.chart[data-chart=over] .tip')"
    page.hover("figure.chart[data-chart=over] svg", 0.5, 0.5)
    page.wait_until(f"return !{place}.hidden")
    said = page.run(f"return {place}.innerText").splitlines()
    samples = int(said[0].removeprefix("after ").removesuffix(" samples").replace(",", ""))
    assert 1 < samples < 150
    assert sorted(line.split("\t")[0] for line in said[1:4]) == ["random", "walk", "walk-8"]
    strong = page.run("return [...document.querySelectorAll('[data-key].strong')].map(e => e.dataset.key)")
    assert len(strong) == page.run(f"return {place}.querySelectorAll('.near').length")
    left, right = page.run(f"const b = {place}.getBoundingClientRect(); return [b.left, b.right]")
    assert 0 <= left < right <= width
    page.hover("#standing-fold h2")
    assert page.run(f"return {place}.hidden") is True


def test_an_axis_turns_linear_at_a_click(page: Browser) -> None:
    show_chart(page)
    drawn = "return document.querySelector('figure.chart[data-chart=over] path.curve').getAttribute('d')"
    before = page.run(drawn)
    page.run("document.querySelector('[data-axis=x][data-scale=linear]').click()")
    page.wait_until(f"return {CURVES} === 3")
    assert page.run(drawn) != before


SEARCH = (
    "const f = document.getElementById('find'); f.value = arguments[0]; f.dispatchEvent(new Event('input'));"
)
FOUND = "return [...document.querySelectorAll('#found li')].map(e => e.innerText)"


def test_a_search_by_name_lists_what_is_called_so_and_shows_it_alone(page: Browser) -> None:
    shown = """return [...document.querySelectorAll('table.standing tbody tr:not([hidden]) th')]
        .map(e => e.textContent)"""
    everybody = page.run(shown)
    page.run(SEARCH, "WALK")
    assert page.run(FOUND) == ["walk searcher", "walk-8 searcher"]
    assert sorted(page.run(shown)) == ["walk", "walk-8"]
    page.run(SEARCH, "fc edp")
    assert page.run(FOUND) == ["resnet18:fc on edge, edp problem"]
    assert page.run(shown) == everybody
    assert page.run("return document.getElementById('scope').textContent").startswith(
        "1 of 4 problems chosen"
    )
    page.run("document.querySelector('#found a').click()")
    page.wait_until("return document.getElementById('mappings-fold').open")
    card = "return document.querySelector('#cards > :not([hidden]) h3').innerText"
    assert page.run(card) == "resnet18:fc on edge, edp"
    page.run(SEARCH, "nobody")
    assert page.run(FOUND) == ["Nothing on this page is called so."]
    page.run(SEARCH, "")
    assert page.run("return document.getElementById('found').hidden") is True
    assert page.run("return document.getElementById('scope').hidden") is True


# Looks


def test_the_page_logs_nothing_and_asks_for_nothing(window: Browser, pages: Pages) -> None:
    for path in (pages.plain, pages.nasty):
        window.console(), window.requests()
        window.open(path)
        window.unfold()
        window.click(LOSSES)
        assert window.console() == []
        asked = [address for address in window.requests() if not address.startswith("data:")]
        assert asked == [path.resolve().as_uri()]


def test_names_that_would_be_markup_are_shown_as_they_are(window: Browser, pages: Pages) -> None:
    window.open(pages.nasty)
    assert (
        window.run("return document.querySelector('h1').textContent")
        == "</title><style>*{display:none}</style>&lt;"
    )
    assert window.run("return document.querySelectorAll('img, iframe, embed, u, s').length") == 0
    assert window.run("return document.scripts.length") == 2  # The data, and the script.
    assert "<script>alert(4)</script>" in window.run("return document.body.innerText")


@pytest.mark.parametrize(("which", "width"), [("plain", 768), ("nasty", 360), ("nasty", 1280)])
def test_the_page_is_never_wider_than_its_window(
    window: Browser, pages: Pages, which: str, width: int
) -> None:
    window.resize(width)
    window.open(getattr(pages, which))
    window.run("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert window.run("return document.documentElement.scrollWidth") == width
    wide = """return [...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll, pre, .hush')
        && e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.outerHTML.slice(0, 80))"""
    assert window.run(wide) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground_in_light_and_dark(page: Browser, scheme: str) -> None:
    page.prefer(scheme)
    ground = luminance(page.run("return getComputedStyle(document.body).backgroundColor"))
    assert ground > 0.9 if scheme == "light" else ground < 0.05
    script = """return [...document.querySelectorAll('main *, header *, nav *')]
        .filter(e => !e.closest('svg, .hush, thead'))
        .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
        .map(e => {
            let on = e;
            const ground = () => getComputedStyle(on).backgroundColor;
            while (ground() === 'rgba(0, 0, 0, 0)') on = on.parentElement;
            return [e.outerHTML.slice(0, 60), getComputedStyle(e).color, ground()];
        })"""
    for element, ink, paper in page.run(script):
        light, dark = sorted((luminance(ink), luminance(paper)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (element, ink, paper)


def luminance(colour: str) -> float:
    """WCAG's relative luminance of a computed style's `rgb(r, g, b)`."""
    channels = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(", ")]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_on_paper_everything_is_unfolded_and_afterwards_folded_again(page: Browser) -> None:
    page.run(
        "addEventListener('beforeprint', () => {"
        "window.folded = document.querySelectorAll('details:not([open])').length })"
    )
    printed = base64.b64decode(page.command("Page.printToPDF")["data"])
    assert printed.startswith(b"%PDF")
    assert page.run("return window.folded") == 0
    assert page.run("return [...document.querySelectorAll('details[open]')].map(e => e.id)") == [
        "curves-fold"
    ]


def test_without_script_everything_can_be_read_and_nothing_pretends_to_work(
    window: Browser, pages: Pages
) -> None:
    window.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        window.open(pages.plain)
        window.unfold()
        text = window.run("return document.body.innerText")
        window.open(pages.plain)
        assert window.run("return document.querySelectorAll('thead button').length") == 0
        assert (
            window.run("return [...document.querySelectorAll('button')].every(b => b.offsetWidth === 0)")
            is True
        )
        window.click("#mappings-fold > summary")
        window.click("#mapping-1-text summary")
        assert window.run("return document.getElementById('mapping-1-json').offsetHeight") > 100
        assert window.run("return document.querySelector('.scripted').offsetHeight") == 0
    finally:
        window.command("Emulation.setScriptExecutionDisabled", value=False)
    for part in ("is nearest", "parallel", "marl-10", "What was run", "dse run small.toml"):
        assert part in text, part


def test_saving_is_offered_as_a_file_of_the_mapping(page: Browser) -> None:
    script = """const link = document.querySelector(arguments[0]);
        return [link.download, decodeURIComponent(link.href.split(',').slice(1).join(','))]"""
    name, text = page.run(script, "#mapping-1 .save")
    assert name == "resnet18_fc--edge--latency.json"
    assert text == page.run("return document.getElementById('mapping-1-json').textContent")
