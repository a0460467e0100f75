"""Words of results/README.md on the paper that this began with, and what they follow from."""

from __future__ import annotations

import json
from collections.abc import Callable

from experiments import RESULTS

NETWORKS = ("mobilenet_v2", "vgg16")


def paper() -> dict[str, str]:
    claims = json.loads((RESULTS / "paper" / "verdicts.json").read_text("utf-8"))["claims"]
    return {claim["claim"]: claim["verdict"] for claim in claims}


def own_problem(kind: str, tuned: bool) -> list[str]:
    end = "(the paper's problem, on paper)" if tuned else "(the paper's problem, nothing tuned, on paper)"
    return [verdict for claim, verdict in paper().items() if kind in claim and claim.endswith(end)]


def cells_of(start: str, column: int) -> list[str]:
    """A column of the lines of the paper's numbers that begin so, the claim's being 1."""
    lines = (RESULTS / "paper" / "numbers.md").read_text("utf-8").splitlines()
    return [line.split(" | ")[column - 1] for line in lines if line.startswith(f"| {start}")]


def first(cell: str) -> float:
    """The figure of a cell, without its interval."""
    return float(cell.split(" ")[0])


def last(cell: str) -> float:
    """The upper end of a cell's interval."""
    return float(cell.rstrip("]").split(", ")[1])


WORDS: dict[str, Callable[[], bool]] = {
    "None of Table III's ratios is borne out": lambda: (
        "borne out"
        not in [
            verdict for claim, verdict in paper().items() if "times" in claim or "better than the" in claim
        ]
    ),
    "**Better mappings than the baselines': not borne out**": (
        lambda: set(own_problem("better than the", True)) == {"not borne out"}
    ),
    "30 to 300 times fewer samples than one PPO agent: not borne out**, tuned or not": lambda: all(
        own_problem("times sooner", tuned) == ["not borne out"] * 6 for tuned in (True, False)
    ),
    "2.96 to 6.59 times as many in latency and EDP, 0.32 and 1.05 in area": lambda: (
        (first(cells_of("times fewer steps", 3)[0]), max(map(first, cells_of("times fewer steps", 3)[:6])))
        == (2.96, 6.59)
        and [first(cell) for of in NETWORKS for cell in cells_of(f"times fewer steps, {of}, area", 3)]
        == [0.32, 1.05]
    ),
    "significantly lower than `marl-plain` in seven of eight ratios": lambda: (
        sum(last(cell) < 1 for of in ("gamma", "genetic") for cell in cells_of(f"{of}'s figure over", 4)) == 7
    ),
    "it is better than random search, and than `marl`: not borne out": lambda: all(
        cells_of(f"nothing refused: {start}, {of}, latency", 5) == ["not borne out"]
        and last(cells_of(f"nothing refused: {start}, {of}, latency", 3)[0]) <= 1
        for start in ("PPO is worse than random", "ppo's figure over marl's")
        for of in NETWORKS
    ),
    "Whether groups carry over to another network is inconclusive": (
        lambda: set(cells_of("groups carry over", 4)) == {"inconclusive"}
    ),
    "1.38 [1.23, 1.62] and 1.99 [1.49, 2.63] in latency, 1.90 and 3.91 in EDP": lambda: (
        [cell[:4] for cell in cells_of("ppo's figure over marl's", 3)] == ["1.38", "1.99", "1.90", "3.91"]
    ),
    "stock PPO by 1.71 in VGG16's latency and 1.39 in MobileNet-v2's EDP; else inconclusive": lambda: (
        cells_of("PPO is worse than random: ", 5)
        == ["inconclusive", "borne out", "borne out", "inconclusive"]
    ),
    "Two agents are better than one; six or nine are best; fewer are cheaper: inconclusive": lambda: all(
        set(cells_of(start, 4)) == {"inconclusive"}
        for start in ("even 2 agents", "6 or 9 are best", "fewer agents are cheaper")
    ),
    "one agent's latency is 1.051 [0.983, 1.145] times two's": lambda: (
        cells_of("even 2 agents beat 1: latency of marl-1 over marl-2's", 3) == ["1.051 [0.983, 1.145]"]
    ),
    "Independence of most parameters, K with C, thresholds: not borne out": lambda: all(
        own_problem(kind, True) == ["not borne out"]
        for kind in ("Most parameters are independent", "K is strongly", "Thresholds from")
    ),
}
