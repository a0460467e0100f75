"""What a page shows: text from outside as markup, escaped first; numbers as in print; figures as SVG."""

from __future__ import annotations

import math
import re
from html import escape as escaped

from markupsafe import Markup, escape

from dse.support import quantities

_LOOP = re.compile(r"(?P<indent>\s*)(?P<word>parallel|for) (?P<what>.*?)(?P<aside>\s{2,}.*)?", re.DOTALL)
_JOINT = re.compile(r"(?<=[:./_])(?=[^\W\d])")
_BUFFER = re.compile(r"\s*L[12] (holds|LACKS)\b.*")
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_ID = re.compile(r'(\bid="|\bhref="#|url\(#)')
_OPENING = re.compile(r"<svg\b")
_BLANK = re.compile(r">\s*\n\s*<")
_POWER = re.compile(r"e([+-][0-9]+)")
NO_BREAK = "\N{NO-BREAK SPACE}"
NONE = "\N{EN DASH}"
"""What stands where there is no number."""
TIMES = "\N{MULTIPLICATION SIGN}"


def nest_markup(text: str) -> Markup:
    """The text of `dse.domains.clustered.nest` with its loops, spread loops and buffers told apart."""
    return Markup("\n").join(_line(line) for line in text.rstrip("\n").split("\n"))


def breakable_name(name: str) -> Markup:
    """A name that may be broken after its joints, as in `mobilenet_v2:features.2.expand`."""
    return Markup("<wbr>").join(escape(part) for part in _JOINT.split(name))


def _line(line: str) -> Markup:
    loop = _LOOP.fullmatch(line)
    if loop:
        kind = "spread" if loop["word"] == "parallel" else "loop"
        found = Markup('{}<span class="{}">{}</span> {}').format(
            loop["indent"], kind, loop["word"], loop["what"]
        )
        return (
            found + Markup('<span class="aside">{}</span>').format(loop["aside"]) if loop["aside"] else found
        )
    if _BUFFER.fullmatch(line):
        return Markup('<span class="buffer">{}</span>').format(line)
    return escape(line)


def inline_svg(svg: str, prefix: str, label: str) -> Markup:
    """A drawn figure (an SVG document of our own making) as an element of a page.

    Several figures use the same ids, which a page may have once: each gets its `prefix`. `label` is what a
    screen reader says.
    """
    start = svg.index("<svg")
    body = _BLANK.sub(">\n<", _METADATA.sub("", svg[start:])).strip()
    body = _ID.sub(lambda match: f"{match.group()}{prefix}-", body)
    return Markup(_OPENING.sub(f'<svg role="img" aria-label="{escaped(label)}"', body, count=1))


def quantity_markup(value: float, unit: str) -> str:
    """`dse.support.quantities.quantity_in_words` as it is printed: `173.2 µs`, or with a power of ten."""
    return printed(quantities.quantity_in_words(value, unit))


def energy_markup(nanojoule: float) -> str:
    """The energy that figures have in nanojoule."""
    return printed(quantities.energy_in_words(nanojoule))


def scientific_markup(value: float) -> str:
    """Four digits; as a power of ten where the number is far from one."""
    return printed(f"{value:.4g}")


def printed(text: str) -> str:
    """A figure set as in print: a power of ten with its exponent raised, and no line breaks."""
    powers = _POWER.sub(lambda found: f" {TIMES} 10{quantities.raised_power(int(found[1]))}", text)
    return powers.replace(" ", NO_BREAK)


def percent_markup(share: float) -> str:
    """`0.0043 %`, `1.9 %`, `54 %`."""
    hundredths = 100 * share
    return f"{hundredths:.2g}{NO_BREAK}%" if abs(hundredths) < 9.95 else f"{hundredths:.0f}{NO_BREAK}%"


def compared_ratio(ratio: float, base: str) -> str:
    """A ratio of 1 or more to something: `1.9 % above the optimum`, from 2 on `3.2 times the optimum`."""
    return f"{percent_markup(ratio - 1)} above {base}" if ratio < 2 else f"{ratio:.3g} times {base}"


def ratio_text(value: float) -> str:
    """A ratio to the best known: three decimals, or fewer; `infeasible` where it is infinite."""
    if math.isnan(value):
        return NONE
    if math.isinf(value):
        return "infeasible"
    return f"{value:.3f}" if value < 10 else f"{value:,.3g}" if value < 1000 else f"{value:.3g}"


def duration_markup(seconds: float) -> str:
    """`12 s`, `4 min 5 s`, `3 h 20 min`."""
    whole = round(seconds)
    if whole < 1:
        return f"{seconds:.2g} s"
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"
