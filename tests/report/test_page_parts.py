"""The parts of the report's page: numbers for readers, tables, loop nests, figures and TOML."""

from __future__ import annotations

import html
import re
import tomllib

import pytest

from dse.report.page.markup import (
    breakable_name,
    compared_ratio,
    duration_markup,
    energy_markup,
    inline_svg,
    nest_markup,
    percent_markup,
    quantity_markup,
    ratio_text,
)
from dse.report.page.tables import number_in, page_table
from dse.support.toml import toml_value

SPACE = "\N{NO-BREAK SPACE}"


def test_a_column_is_of_numbers_if_all_that_it_says_are_numbers() -> None:
    table = page_table(
        "t",
        ["searcher", "loss", "ratio", "seeds", "nothing"],
        [["marl-6", "1.5e-09", "1.02 [1.01, 1.20]", "3", "-"], ["7", "infeasible", "-", "1,024", "never"]],
    )
    assert table.numeric == (False, True, True, True, False)
    assert [[cell.value for cell in row[1:4]] for row in table.rows] == [
        [1.5e-9, 1.02, 3.0],
        [None, None, 1024.0],
    ]


def test_a_table_without_rows_has_no_column_of_numbers() -> None:
    assert page_table("t", ["a", "b"], []).numeric == (False, False)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,024", 1024.0),
        ("-0.5", -0.5),
        ("7 %", 7.0),
        ("40x", 40.0),
        ("<0.001", 0.001),
        (" 3 (of 4) ", 3.0),
        ("3 of 4", 3.0),
        ("0.5 to infeasible", 0.5),
    ]
    + [
        (text, None)
        for text in ("", "marl", "marl-6", "3 out of 4", "1e999", "1.2.3", "v2", "infeasible", "nan")
    ],
)
def test_the_number_in_a_cell(text: str, number: float | None) -> None:
    assert number_in(text) == number


def test_numbers_are_written_for_readers() -> None:
    assert quantity_markup(0.0001732, "s") == f"173.2{SPACE}µs"
    assert energy_markup(1153.2) == f"1.153{SPACE}µJ"
    assert (
        quantity_markup(7.462004e-10, "J s").replace(SPACE, " ") == "7.462 \N{MULTIPLICATION SIGN} 10⁻¹⁰ J s"
    )
    assert quantity_markup(6.25, "mm2") == f"6.25{SPACE}mm2"
    assert quantity_markup(float("inf"), "J s") == "infeasible"
    assert [percent_markup(share).replace(SPACE, "") for share in (0.000043, 0.019, 0.9996)] == [
        "0.0043%",
        "1.9%",
        "100%",
    ]
    assert compared_ratio(1.5, "it") == f"50{SPACE}% above it"
    assert [ratio_text(value) for value in (1.0131, 12.345, float("inf"))] == ["1.013", "12.3", "infeasible"]
    assert [duration_markup(s) for s in (0.25, 59.4, 3599.6, 12000)] == [
        "0.25 s",
        "59 s",
        "1 h 0 min",
        "3 h 20 min",
    ]


def test_a_loop_nest_keeps_every_character_and_escapes_the_layers_name() -> None:
    text = "<b>: CONV K4\n\nparallel k0 in 0..3    2 tiles\n  for c0 in 0..1 by <2\n    L1 holds 4 of 5\n"
    markup = nest_markup(text)
    assert html.unescape(re.sub(r"</?span[^>]*>", "", markup)) == text.rstrip("\n")
    assert re.findall(r'<span class="(\w+)">', markup) == ["spread", "aside", "loop", "buffer"]
    assert "<b>" not in markup


def test_a_figure_keeps_its_references_when_its_ids_are_made_its_own() -> None:
    uses = '<clipPath id="p"/><use href="#p" clip-path="url(#p)"/>'
    svg = f'<?xml?><!DOCTYPE svg><svg width="9"><metadata><a/></metadata>{uses}</svg>'
    markup = inline_svg(svg, "figure1", 'a "quoted" <name>')
    assert str(markup).startswith('<svg role="img" aria-label="a &quot;quoted&quot; &lt;name&gt;" width="9">')
    assert 'id="figure1-p"' in markup
    assert 'href="#figure1-p"' in markup
    assert "url(#figure1-p)" in markup
    assert "metadata" not in markup


def test_toml_reads_back_as_what_was_written() -> None:
    data = {
        "text": 'a "b" \\ \x7f \n é 😀',
        "yes": True,
        "n": 3,
        "x": 1e-07,
        "l": [1, [2]],
        "t": {"a b": 0.5},
    }
    text = "\n".join(f"{name} = {toml_value(value)}" for name, value in data.items())
    assert tomllib.loads(text) == data


def test_a_name_may_break_after_its_joints_but_a_number_may_not() -> None:
    assert breakable_name("vgg16:conv4_2") == "vgg16:<wbr>conv4_2"
    assert breakable_name("a.b<c") == "a.<wbr>b&lt;c"
    assert breakable_name("0.5 to 1.25e-3") == "0.5 to 1.25e-3"
