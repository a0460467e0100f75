"""What the contract suite says of a searcher, rule by rule."""

from __future__ import annotations

from dataclasses import dataclass


class Broken(Exception):
    """A rule is broken: the message says what was expected, what happened, and at which sample."""


@dataclass(frozen=True)
class Verdict:
    """Whether a searcher keeps a rule.

    `sentence` is the rule, with the searcher as its subject. `passed` is None where the rule cannot be
    judged, because one that it builds on is broken. `why` says what was tried, or what went wrong.
    """

    rule: str
    sentence: str
    passed: bool | None
    why: str
    seconds: float

    @property
    def word(self) -> str:
        """pass, FAIL, or a dash."""
        return "-" if self.passed is None else "pass" if self.passed else "FAIL"

    def __str__(self) -> str:
        return f"{self.word:<4}  {self.rule}: {self.sentence}\n      {self.why}"
