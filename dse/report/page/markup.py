"""Text from outside as markup: escaped, then given elements that change how it looks, not what it says."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_LOOP = re.compile(r"(?P<indent>\s*)(?P<word>parallel|for) (?P<what>.*?)(?P<aside>\s{2,}.*)?", re.DOTALL)
_JOINT = re.compile(r"(?<=[:./_])(?=[^\W\d])")
_BUFFER = re.compile(r"\s*L[12] (holds|LACKS)\b.*")


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
