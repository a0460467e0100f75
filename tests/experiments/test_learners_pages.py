"""Pages on learners follow from the lines that are committed beside them."""

from __future__ import annotations

from experiments.learners import memory
from experiments.learners.returns import HERE


def test_a_page_that_is_committed_follows_from_its_lines() -> None:
    tables = "\n\n".join(memory.pages())
    written = (HERE / "memory.md").read_text(encoding="utf-8")
    assert written == f"Written by `python -m experiments.learners.memory`.\n\n{tables}\n"


def test_what_a_step_takes_grows_with_the_team() -> None:
    three, six = (memory.size(memory.recorded(agents)[0]) for agents in (3, 6))
    assert six > 2 * three
