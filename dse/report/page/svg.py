"""Figures as parts of a page: SVG whose ids are its own, that scales with the page and can be read aloud."""

from __future__ import annotations

import re
from html import escape

from markupsafe import Markup

_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_ID = re.compile(r'(\bid="|\bhref="#|url\(#)')
_OPENING = re.compile(r"<svg\b")
_BLANK = re.compile(r">\s*\n\s*<")


def inline_svg(svg: str, prefix: str, label: str) -> Markup:
    """A drawn figure (an SVG document of our own making) as an element of a page.

    Several figures use the same ids, which a page may have once: each gets its `prefix`. `label` is what a
    screen reader says.
    """
    start = svg.index("<svg")
    body = _BLANK.sub(">\n<", _METADATA.sub("", svg[start:])).strip()
    body = _ID.sub(lambda match: f"{match.group()}{prefix}-", body)
    return Markup(_OPENING.sub(f'<svg role="img" aria-label="{escape(label)}"', body, count=1))
