"""Words of results/README.md on the paper that this began with, and what they follow from."""

from __future__ import annotations

import json
from collections.abc import Callable

from experiments import RESULTS


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
    "30 to 300 times fewer samples than one PPO agent: not borne out where both are tuned": lambda: (
        own_problem("times sooner", True) == ["not borne out"] * 6
        and own_problem("times sooner", False) == ["not tested"] * 6
        and cells_of("times fewer steps, mobilenet_v2, area", 5) == ["not borne out"]
        and cells_of("times fewer steps", 5).count("not tested") == 5 + 2
    ),
    "1.38 [1.23, 1.62] and 1.99 [1.49, 2.63] in latency, 1.90 and 3.91 in EDP": lambda: (
        [cell[:4] for cell in cells_of("ppo's figure over marl's", 3)] == ["1.38", "1.99", "1.90", "3.91"]
    ),
    "stock PPO by 1.71 in VGG16's latency and 1.39 in MobileNet-v2's EDP; else inconclusive": lambda: (
        cells_of("PPO is worse", 5) == ["inconclusive", "borne out", "borne out", "inconclusive"]
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
