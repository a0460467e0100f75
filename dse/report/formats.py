"""How a report writes numbers and tables: digits, Markdown, LaTeX and CSV."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Section(NamedTuple):
    """A table as a person reads it: a title of a line, column heads, cells, and how to read it."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


NOTHING = "-"
_ENTITY = re.compile(r"&(?=#?\w+;)")
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


@dataclass(frozen=True)
class Table:
    """One table under the name of its files: `columns` and `rows` of the CSV, `sections` to be read.

    It answers the `question`. `brief` are the sections that a page or a terminal has room for. One without
    columns has no CSV.
    """

    name: str
    question: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    sections: tuple[Section, ...]
    brief: tuple[Section, ...]

    @classmethod
    def of(
        cls,
        name: str,
        question: str,
        columns: Sequence[str],
        rows: Iterable[tuple[object, ...]],
        sections: Iterable[Section],
        brief: int | None = None,
    ) -> Table:
        """A table; brief are the first so many of its sections, by default all. Without rows it has none."""
        kept = tuple(rows)
        shown = tuple(sections) if kept else ()
        return cls(name, question, tuple(columns), kept, shown, shown[:brief])


def loss_text(value: float) -> str:
    """A loss with four digits."""
    return f"{value:.4g}" if math.isfinite(value) else "infeasible"


def ratio_text(value: float) -> str:
    """A ratio to a reference, with three digits."""
    return f"{value:.3g}" if math.isfinite(value) else NOTHING


def over_target(value: float) -> str:
    """A ratio to the best known, which is mostly a little above 1."""
    if not math.isfinite(value):
        return "infeasible"
    return f"{value:.3f}" if value < 10 else f"{value:,.3g}"


def factor_text(value: float) -> str:
    """A factor with two digits: 0.25, 3.4, 40, 1,200."""
    if not math.isfinite(value):
        return "never"
    if value >= 99.5:
        return f"{float(f'{value:.2g}'):,.0f}"
    return f"{value:.0f}" if value >= 9.95 else f"{value:.2g}"


def samples_text(value: float) -> str:
    """A number of samples, which may be a mean."""
    return f"{value:,.0f}" if math.isfinite(value) else "never"


def probability_text(value: float) -> str:
    """A probability or a p value."""
    if math.isnan(value):
        return NOTHING
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def names_in_sentence(found: Sequence[str]) -> str:
    """Names in a sentence: "a, b and c"."""
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} and {found[-1]}"


def markdown_table(section: Section) -> str:
    """A section as a Markdown table under its heading and its note."""
    # pandas would need tabulate for this, one more dependency for the two lines of a head.
    title, heads, rows, note = section
    said = [plain_markdown(note), ""] if note else []
    lines = [
        f"## {plain_markdown(title)}",
        "",
        *said,
        _line(heads),
        _line(["---", *["---:"] * (len(heads) - 1)]),
    ]
    return "\n".join([*lines, *map(_line, rows)]) + "\n"


def as_latex(section: Section) -> str:
    """A section as a LaTeX table with booktabs' rules; what TeX would read as commands is escaped."""
    # pandas' to_latex leaves captions and the signs < > | as they are, which TeX prints as others.
    title, heads, rows, note = section
    # A table of a column that holds sentences, not figures, needs its lines broken.
    columns = "".join("p{0.6\\textwidth}" if holds_sentences(column) else "l" if place == 0 else "r"
                      for place, column in enumerate(zip(*rows, strict=True)))  # fmt: skip
    body = [" & ".join(map(escaped, row)) + r" \\" for row in rows]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(f'{title}. {note}' if note else title)}}}",
        rf"\begin{{tabular}}{{{columns or 'l' + 'r' * (len(heads) - 1)}}}",
        r"\toprule",
        " & ".join(map(escaped, heads)) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Text as LaTeX prints it."""
    return "".join(_LATEX.get(letter, letter) for letter in text)


def as_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV: figures with all their digits, empty where there is none."""
    import pandas as pd

    # As objects, so that a column of whole numbers with a gap in it does not become one of fractions.
    shown = [[_no_formula(cell) for cell in row] for row in rows]
    text: str = pd.DataFrame(shown, columns=list(columns), dtype=object).to_csv(
        index=False, lineterminator="\n"
    )
    return text


def plain_markdown(text: str) -> str:
    """Text that Markdown shows as it is: no column ends in it, no HTML, no code and no link begins."""
    # A backslash first, for the others bring some; an ampersand as it is where it begins no entity.
    text = _ENTITY.sub("&amp;", text.replace("\\", r"\\"))
    for sign, shown in (("|", r"\|"), ("<", "&lt;"), ("`", r"\`"), ("](", r"]\(")):
        text = text.replace(sign, shown)
    return text


def _no_formula(cell: object) -> object:
    """A cell that no spreadsheet takes for a formula: text that begins like one has a quote before it."""
    return f"'{cell}" if isinstance(cell, str) and cell[1:] and cell[0] in "=+-@" else cell


def holds_sentences(cells: Sequence[str]) -> bool:
    """Whether a column holds sentences rather than figures and names."""
    return max(map(len, cells), default=0) > 60


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(plain_markdown, cells))} |"
