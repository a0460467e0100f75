"""Text from outside as markup, escaped, then given elements that change how it looks; and figures as SVG."""

from __future__ import annotations

import re
from html import escape as escaped

from markupsafe import Markup, escape

_LOOP = re.compile(r"(?P<indent>\s*)(?P<word>parallel|for) (?P<what>.*?)(?P<aside>\s{2,}.*)?", re.DOTALL)
_JOINT = re.compile(r"(?<=[:./_])(?=[^\W\d])")
_BUFFER = re.compile(r"\s*L[12] (holds|LACKS)\b.*")
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_ID = re.compile(r'(\bid="|\bhref="#|url\(#)')
_OPENING = re.compile(r"<svg\b")
_BLANK = re.compile(r">\s*\n\s*<")


def nest_markup(text: str) -> Markup:
    """The text of `dse.domains.clustered.nest` with its loops, spread loops and buffers told apart."""
    return Markup("\n").join(_line(line) for line in text.rstrip("\n").split("\n"))


def breakable(name: str) -> Markup:
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
