"""The paper's claims about parameters: how they depend on each other (Figure 4), when they settle (7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from dse.analysis.findings import Interval
from dse.analysis.stats.bootstrap import confidence_interval
from dse.support.arrays import FloatArray, IntArray
from experiments.intervals import Verdict, overall
from experiments.paper.claims import Claim, shown, spread
from experiments.paper.measures import above_one

Lines = Sequence[Mapping[str, str]]
SENSES = {
    "weak_pairs": "pairs below 0.2",
    "weak": "genes with all below 0.2",
    "uncorrelated": "genes without a significant correlation",
    "unrelated": "genes without a significant dependence",
}
"""The columns of correlations.csv that are shares of something, and what of."""
WEAK = 0.2
"""Correlations below it are the low ones of Figure 4."""
CUTS = ("agents_0.5", "agents_1", "agents_1.5", "agents_2", "agents_2.5")
RESAMPLES = 2000


def dependence_claims(lines: Lines) -> Iterator[Claim]:
    """Figure 4 and the thresholds of Algorithm 1, by the random samples of one campaign's problems."""
    yield independence_claim(lines)
    yield weak_claim(lines)
    yield strong_pair_claim(lines)
    yield thresholds_claim(lines)


def independence_claim(lines: Lines) -> Claim:
    """That most parameters are independent, by the random samples of correlations.py."""
    fewest = min(int(line["samples"]) for line in lines)
    few, many = f"{fewest:,}", "as many as give 1,000 good ones"
    drawn = {few: [line for line in lines if int(line["samples"]) == fewest], many: _most(lines)}
    found = {name: _shares(chosen) for name, chosen in drawn.items()}
    medians = {n: {s: float(np.median(of)) for s, of in shares.items()} for n, shares in found.items()}
    critical = {n: max(float(line["critical_r"]) for line in chosen) for n, chosen in drawn.items()}
    verdict: Verdict = "borne out" if medians[many]["unrelated"] > 0.5 else "not borne out"
    if verdict == "not borne out" and medians[many]["uncorrelated"] > 0.5:
        verdict = "inconclusive"
    return Claim(
        "Most parameters are independent of each other",
        "most correlations between parameters are low (Figure 4)",
        verdict,
        f"most pairs are weakly correlated, below 0.2: {medians[many]['weak_pairs']:.0%} of them. But weak "
        f"is not none: {medians[few]['unrelated']:.0%} of genes show no dependence on any other among "
        f"{few} samples, whose best tell no correlation below {critical[few]:.2f} from 0, and "
        f"{medians[many]['unrelated']:.0%} among {many}",
        _drawn(lines),
        ("samples", "least significant r", *SENSES.values()),
        tuple(
            (
                n,
                f"{critical[n]:.2f}",
                *(f"{np.median(s):.0%} ({min(s):.0%} to {max(s):.0%})" for s in shares.values()),
            )
            for n, shares in found.items()
        ),
        tuple({"samples": n, "critical_r": critical[n], "shares": shares} for n, shares in found.items()),
    )


def weak_claim(lines: Lines) -> Claim:
    """That most correlations are below 0.2."""
    shares = {_problem(line): int(line["weak_pairs"]) / int(line["pairs"]) for line in _most(lines)}
    least = min(shares, key=lambda name: shares[name])
    return Claim(
        "Most correlations between parameters are below 0.2",
        "most |r| are within 0 to 0.2 (Figure 4a)",
        "borne out" if shares[least] > 0.5 else "not borne out",
        f"of all pairs {shares[least]:.0%} are on {least}, where they are fewest",
        _drawn(lines),
        ("problem", "pairs below 0.2"),
        tuple((name, f"{share:.0%}") for name, share in shares.items()),
        ({"shares": shares},),
    )


def strong_pair_claim(lines: Lines) -> Claim:
    """That the tiles of K and C are strongly correlated."""
    sizes = {_problem(line): (float(line["k_with_c"]), float(line["largest_r"])) for line in _most(lines)}
    strong = sum(own >= WEAK for own, _ in sizes.values())
    return Claim(
        "K is strongly correlated with C",
        "of the few strong pairs K with C is named (Figure 4a), and one agent has both",
        "borne out" if strong > len(sizes) / 2 else "not borne out",
        f"a tile of K correlates with one of C by {WEAK:g} or more on {strong} of {len(sizes)} problems",
        _drawn(lines),
        ("problem", "largest |r| of K with C", "of any pair"),
        tuple((name, f"{own:.2f}", f"{any_:.2f}") for name, (own, any_) in sizes.items()),
        ({"k_with_c": {name: own for name, (own, _) in sizes.items()}},),
    )


def thresholds_claim(lines: Lines) -> Claim:
    """That cutting the tree at 0.5 gives each parameter its own agent, and at 2.5 one agent all of them."""
    cuts = {_problem(line): [int(line[name]) for name in CUTS] for line in _most(lines)}
    genes = {_problem(line): int(line["choices"]) for line in _most(lines)}
    as_said = sum(found[0] == genes[name] and found[-1] == 1 for name, found in cuts.items())
    return Claim(
        "Thresholds from 0.5 to 2.5 lead from an agent a parameter to a single agent",
        "below 0.5 every parameter is its own agent, above 2.5 one agent has all (Algorithm 1)",
        "borne out" if as_said == len(cuts) else "not borne out",
        f"with Ward's linkage on rows of the matrix it is so on {as_said} of {len(cuts)} problems; with "
        "average linkage of 1 - |r| no distance exceeds 1",
        _drawn(lines),
        ("problem", *(f"agents at {name.removeprefix('agents_')}" for name in CUTS)),
        tuple((name, *map(str, found)) for name, found in cuts.items()),
        ({"agents": cuts},),
    )


def sooner_claim(lines: Lines) -> Claim:
    """That marl's parameters settle sooner than ppo's."""
    found = {layer: times_sooner(lines, layer) for layer in _layers(lines)}
    return _of_layers(
        "marl's parameters settle sooner than ppo's",
        "both settle, MARL sooner (Figure 7)",
        "after how many times as many samples ppo's do, a geometric mean over parameters",
        found,
        {layer: above_one(times) for layer, times in found.items()},
        lines,
    )


def alike_claim(lines: Lines) -> Claim:
    """That marl's and ppo's parameters end at similar values: most of them at the same one.

    It is inconclusive where marl's own runs do not end so either: then there is no value to be similar to.
    """
    found = {layer: share_alike(lines, layer, "ppo") for layer in _layers(lines)}
    own = {layer: share_alike(lines, layer, "marl") for layer in found}
    verdicts = {
        layer: above_one(_times(share, 2)) if own[layer].low > 0.5 else "inconclusive"
        for layer, share in found.items()
    }
    claim = _of_layers(
        "marl's and ppo's parameters settle at similar values",
        "at similar values (Figure 7)",
        "of a run of each, the share of parameters that end with the same value",
        found,
        verdicts,
        lines,
    )
    of_own = ", ".join(f"{shown(share)} on {layer}" for layer, share in own.items())
    return replace(claim, why=f"{claim.why}; of two runs of marl itself {of_own}")


def times_sooner(lines: Lines, layer: str) -> Interval:
    """ppo's samples over marl's until a parameter settles: medians over seeds, then a geometric mean."""
    ours, theirs = (np.log(_runs(lines, layer, name, "settled")) for name in ("marl", "ppo"))
    return _resampled(
        lambda mine, other: float(
            np.exp((np.median(theirs[other], axis=0) - np.median(ours[mine], axis=0)).mean())
        ),
        len(ours),
        len(theirs),
    )


def share_alike(lines: Lines, layer: str, other: str) -> Interval:
    """Over all pairs of a run of marl and another, of `other`, the share of parameters that end alike."""
    ours, theirs = (_runs(lines, layer, name, "ends") for name in ("marl", other))
    alike = (ours[:, None] == theirs[None]).mean(axis=2)
    if other == "marl":
        np.fill_diagonal(alike, np.nan)
    return _resampled(lambda mine, his: float(np.nanmean(alike[np.ix_(mine, his)])), len(ours), len(theirs))


def _resampled(figure: Callable[[IntArray, IntArray], float], *sizes: int) -> Interval:
    """The figure of two sets of runs, by their places, with a 95 % interval over runs."""
    rng = np.random.default_rng(0)
    drawn = [figure(*(rng.integers(size, size=size) for size in sizes)) for _ in range(RESAMPLES)]
    return Interval(
        figure(*(np.arange(size) for size in sizes)), *confidence_interval(np.array(drawn), min(sizes))
    )


def _times(found: Interval, factor: float) -> Interval:
    return Interval(found.value * factor, found.low * factor, found.high * factor)


def _layers(lines: Lines) -> list[str]:
    return list(dict.fromkeys(line["layer"] for line in lines))


def _runs(lines: Lines, layer: str, searcher: str, column: str) -> FloatArray:
    """One column of settling.py's table, (seeds, parameters)."""
    own = [line for line in lines if (line["layer"], line["searcher"]) == (layer, searcher)]
    seeds = dict.fromkeys(line["seed"] for line in own)
    return np.array([[float(line[column]) for line in own if line["seed"] == seed] for seed in seeds])


def _of_layers(
    what: str,
    paper: str,
    measure: str,
    found: Mapping[str, Interval],
    verdicts: Mapping[str, Verdict],
    lines: Lines,
) -> Claim:
    return Claim(
        what,
        paper,
        overall(list(verdicts.values())),
        f"{measure}: " + ", ".join(f"{shown(value)} on {layer}" for layer, value in found.items()),
        f"{', '.join(found)}; {len({line['seed'] for line in lines})} seeds",
        ("layer", measure, "verdict"),
        tuple((layer, shown(value), verdicts[layer]) for layer, value in found.items()),
        tuple({"what": layer, **spread(value)} for layer, value in found.items()),
    )


def _most(lines: Lines) -> Lines:
    """Of each problem that of the most samples."""
    most = {_problem(line): line for line in sorted(lines, key=lambda line: int(line["samples"]))}
    return [most[name] for name in dict.fromkeys(map(_problem, lines))]


def _problem(line: Mapping[str, str]) -> str:
    return f"{line['layer']}, {line['objective']}"


def _drawn(lines: Lines) -> str:
    return f"{len(_most(lines))} problems, random samples, the best 15 % of the feasible ones"


def _shares(drawn: Lines) -> dict[str, list[float]]:
    """For each of SENSES, the share of pairs or genes on each problem."""
    of = {sense: "pairs" if sense == "weak_pairs" else "genes" for sense in SENSES}
    return {sense: [int(line[sense]) / int(line[whole]) for line in drawn] for sense, whole in of.items()}
