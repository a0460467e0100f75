"""Whether a campaign ran in the paper's setting: where it departs from what that states, it tests nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dse.analysis.study import Study
from dse.domains.clustered.accelerator import UNLIMITED
from dse.domains.clustered.space.parts import SPACES
from experiments.intervals import Verdict
from experiments.paper.claims import Claim, Row

SAMPLES = 20_000
ENOUGH_SEEDS = 3
"""Below it an interval over seeds says nothing."""
UNKNOWN: Verdict = "inconclusive"
REMAIN = (
    (
        "which layers",
        "none is named but ResNet-18's layer 2",
        "layers 1 and 2 of each network, counted from 0",
    ),
    ("cluster size", "no parameter; in the public environment it is the gene Num PE", "what the tiles need"),
    (
        "MAESTRO",
        "the release that its environment pins, which does not check filters",
        "the latest, which does",
    ),
    ("strides and padding", "not said", "lowered: unpadded, stride 1, the same outputs"),
    ("seeds, hyperparameters", "not said", "seeds as said; every searcher tuned alike on other layers"),
    (
        "agents",
        "PPO with a critic, reward 1 / X",
        "no critic, reward by rank, restarts; marl-plain: no critic",
    ),
    ("parallel dim", "four choices (Figure 2)", "six"),
    (
        "what is refused",
        "nothing is said; the public environment prices all",
        "96 % of random points of three of the four layers",
    ),
    ("Equation 1", "n and k are not said", "10 and 3, by the sizes of Table II"),
    ("latency, energy", "its figures in s and J s without the clock", "ratios only are compared"),
)
"""What differs in `paper-table3-any` too, where the paper states nothing to follow: what, there, here."""
DEPARTURES = {
    "a": "96 % of random points of three of the four layers are refused here, which its environment priced",
    "b": "marl has no critic, a reward by rank, and restarts; marl-plain has no critic",
    "c": "BO, GA and GAMMA are tuned, on other layers",
    "d": "which layers is not said",
    "e": "PPO had 20,000 samples, where the paper speaks of hundreds of thousands",
    "f": "Optuna's TPE had 500 samples, and marl-plain there too",
    "g": "filters are whole, K, C, Y and X alone are tiled, ordered and parallel",
}
"""How our setting departs from the paper's, by the letters that lines of numbers.md have."""
GROUPED = "groups of agents from 1,000 charged samples, not from 20,000 that are not"
"""How claims about numbers of agents depart, wherever agents are grouped."""


def departures(study: Study) -> Iterator[str]:
    """How a campaign's problems differ from the paper's, in words; nothing of one that does not say."""
    definitions = study.about.get("definitions", {}).values()
    if any(definition.get("parts") != SPACES["paper"].to_dict() for definition in definitions):
        yield "13 parameters, not its 17 with the PE count"
    if any(definition.get("tiles") != "any" for definition in definitions):
        yield "perfect factors, not tiles of any size"
    machines = [definition["accelerator"] for definition in definitions]
    if any(machine["l2_size"] < UNLIMITED for machine in machines):
        yield "an accelerator with limits, not its practically unlimited one"
    if not study.cost_model.startswith("maestro"):
        yield f"cost model {study.cost_model}, not MAESTRO"
    if study.budget < SAMPLES:
        yield f"{study.budget:,} samples, not {SAMPLES:,}"


def settled(claim: Claim, study: Study, *more: str) -> Claim:
    """The claim as it is where the setting is the paper's; where it is not, not tested, whatever came out.

    `more` are departures of this claim alone. Fewer than ENOUGH_SEEDS runs a searcher are inconclusive.
    """
    seeds = min((int(figure["seeds"]) for figure in claim.figures if "seeds" in figure), default=ENOUGH_SEEDS)
    if seeds < ENOUGH_SEEDS:
        few = f"{seeds} seed{'s' * (seeds != 1)} so far, {ENOUGH_SEEDS} are needed to tell"
        rows = claim.rows
        if claim.heads[-1] == "verdict":
            rows = judged(rows, UNKNOWN)
        claim = replace(claim, verdict=UNKNOWN, why=f"{few}; {claim.why}", rows=rows)
    differs = "; ".join((*departures(study), *more))
    if not differs:
        return claim
    rows = judged(claim.rows, "not tested") if claim.heads[-1] == "verdict" else claim.rows
    return replace(claim, verdict="not tested", why=f"in another setting ({differs}): {claim.why}", rows=rows)


def judged(rows: Sequence[Row], verdict: Verdict) -> tuple[Row, ...]:
    """Rows that end with a verdict, with this one instead; what was not tested stays so."""
    return tuple((*row[:-1], row[-1] if row[-1] == "not tested" else verdict) for row in rows)


def on(study: Study, accelerator: str) -> Study:
    """The study of its problems on one accelerator."""
    problems = [problem for problem in study.problems if problem[1] == accelerator]
    labels = {study.label(problem) for problem in problems}
    definitions = study.about.get("definitions", {})
    about = study.about | {
        "problems": problems,
        "definitions": {label: made for label, made in definitions.items() if label in labels},
    }
    cells = tuple(cell for cell in study.summaries if cell.accelerator == accelerator)
    return replace(study, about=about, summaries=cells)
