"""How figures stand in the tables of this page and of others."""

from __future__ import annotations


def per_cent(share: float, digits: int = 2) -> str:
    """A share in per cent."""
    return f"{100 * share:.{digits}f}"


def table(lines: list[list[str]]) -> str:
    """A table of cells, line by line."""
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
