"""Rules, and what a contract suite says of its subject, rule by rule."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

Subject = TypeVar("Subject")


class Broken(Exception):
    """A rule is broken: the message says what was expected, what happened, and at which sample."""


@dataclass(frozen=True)
class Verdict:
    """Whether a plug-in keeps a rule.

    `sentence` is the rule, with the plug-in as its subject. `passed` is None where the rule cannot be
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


@dataclass(frozen=True)
class ContractRule(Generic[Subject]):
    """A rule, as a sentence about a plug-in. It is judged only where the rules that it `needs` are kept.

    `check` says what it tried, or raises Broken.
    """

    name: str
    sentence: str
    check: Callable[[Subject], str]
    needs: tuple[str, ...] = ()


def judge(rules: Iterable[ContractRule[Subject]], subject: Subject) -> Iterator[Verdict]:
    """The verdicts on the subject, in the order of the rules, as they are reached."""
    kept: set[str] = set()
    for rule in rules:
        verdict = _verdict(rule, subject, kept)
        if verdict.passed:
            kept.add(rule.name)
        yield verdict


def broken(verdicts: Iterable[Verdict]) -> str:
    """The verdicts on rules that are not kept, as text; empty if there are none."""
    return "\n".join(str(verdict) for verdict in verdicts if not verdict.passed)


def _verdict(rule: ContractRule[Subject], subject: Subject, kept: set[str]) -> Verdict:
    missing = [need for need in rule.needs if need not in kept]
    if missing:
        return Verdict(rule.name, rule.sentence, None, f"not judged: it builds on {missing[0]!r}", 0.0)
    start = time.perf_counter()
    try:
        passed, why = True, rule.check(subject)
    except Broken as broken_rule:
        passed, why = False, str(broken_rule)
    return Verdict(rule.name, rule.sentence, passed, why, time.perf_counter() - start)
