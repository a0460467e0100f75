"""What becomes of the claims of arXiv:2507.16249 here: `python -m experiments.paper.verdicts`.

Reads the curves of the campaigns that CAMPAIGNS names, each in its folder beside this one, correlations.csv
(of correlations.py) and figure7.csv (of settling.py); writes verdicts.md and verdicts.json beside them. A
campaign that is not there, or not done, is said to be so. How claims are judged stands in claims.py
and measures.py; `--table3 FOLDER` and so on read a campaign elsewhere, `--out FOLDER` writes elsewhere.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from dse.analysis.reduction import budgets_up_to
from dse.analysis.study import Study, load_study
from dse.report.formats import Section, markdown_table
from dse.support.errors import InputError
from experiments import RESULTS, read_rows
from experiments.paper.claims import (
    Claim,
    agents_claim,
    listed,
    many_agents_claim,
    objectives_claim,
    over_budgets,
    reduction_claims,
    runs_of,
    samples_claim,
)
from experiments.paper.elsewhere import CLUSTERED, joined, plain_steps
from experiments.paper.figure6 import with_both_ends
from experiments.paper.measures import above_one, loss_ratio
from experiments.paper.own_problem import claims_of, named, own_claims, plain, two_agents_claim
from experiments.paper.parameters import Lines, alike_claim, dependence_claims, sooner_claim
from experiments.paper.setting import REMAIN, settled

HERE = RESULTS / "paper"
CAMPAIGNS = {
    "table3": "table3",
    "figure5": "paper-figure5",
    "agents": "paper-agents",
    "ablations": "paper-ablations",
    "own": "paper-table3-any",
    "factors": "paper-table3",
    "layers": "paper-layers-any",
    "clustered": "paper-clustered",
    "longer": "paper-steps-seeds",
    "figure6": "paper-figure6",
    "loopnest": "table3-loopnest",
}
CAVEATS = (
    "The cost model is our own rebuilding of MAESTRO's. Where a claim says no problem or cost model, it was "
    "judged with that on eyeriss-small.",
    "Our baselines are tuned, as marl is, on development layers that none of these are. We do not know how "
    "the paper's were; `ppo-plain` and `marl-plain` are what is left without our tuning and tricks.",
    "Our marl follows the paper's text; where it departs from it is said in its docstring.",
    "Intervals are of the seeds alone: other layers and accelerators may come out otherwise.",
)


def judge(studies: Mapping[str, Study], correlated: Lines = (), settling: Lines = ()) -> list[Claim]:
    """All claims that can be judged by what there is; those of other settings than the paper's untested.

    `correlated` and `settling` are the tables of correlations.py and settling.py.
    """
    claims: list[Claim] = []
    if "own" in studies:
        claims += own_claims(studies["own"])
        as_written = plain(studies["own"])
        if as_written is not None:
            claims += [c for c in own_claims(as_written, ", nothing tuned") if "sooner" not in c.claim]
        if "longer" in studies:
            where = "the paper's problem, nothing tuned, on paper"
            claims += [named(claim, where) for claim in plain_steps(studies["own"], studies["longer"])]
    if "figure6" in studies and "own" in studies:
        whole = with_both_ends(studies["own"], studies["figure6"])
        where = "the paper's Figure 6, on paper"
        claims += [named(claim, where) for claim in (two_agents_claim(whole), agents_claim(whole))]
    if "factors" in studies:
        claims += own_claims(studies["factors"], ", perfect factors")
    if "layers" in studies:
        claims += own_claims(studies["layers"], ", other layers")
    claims += parameters_claims(studies, correlated, settling)
    if "table3" in studies:
        claims.append(
            settled(samples_claim(studies["table3"], "marl", "ppo", "both tuned"), studies["table3"])
        )
    if "figure5" in studies:
        untuned = samples_claim(studies["figure5"], "marl-plain", "ppo-plain", "neither tuned")
        claims += [settled(c, studies["figure5"]) for c in (untuned, objectives_claim(studies["figure5"]))]
    controls = (("table3", "factored-ppo"), ("ablations", "single-agent"))
    found = [
        (studies[name], control)
        for name, control in controls
        if name in studies and control in studies[name].searchers
    ]
    if found:
        claims.append(settled(many_agents_claim(found), found[0][0]))
    if "table3" in studies:
        claims += [settled(c, studies["table3"]) for c in reduction_claims(studies["table3"])]
    if "agents" in studies:
        claims.append(settled(agents_claim(studies["agents"]), studies["agents"]))
    if "loopnest" in studies:
        claims += claims_of(studies["loopnest"], "under loopnest")
    return claims


def parameters_claims(studies: Mapping[str, Study], correlated: Lines, settling: Lines) -> Iterator[Claim]:
    """The claims about parameters: those of the paper's own problem, and Figure 4's on table3's problems."""
    for campaign in dict.fromkeys(line["campaign"] for line in reversed(correlated)):
        for claim in dependence_claims([line for line in correlated if line["campaign"] == campaign]):
            if campaign == CAMPAIGNS["own"]:
                yield named(claim, "the paper's problem, on paper")
            elif "table3" in studies:
                yield settled(claim, studies["table3"])
    if settling:
        yield named(sooner_claim(settling), "the paper's problem, on paper")
        yield named(alike_claim(settling), "the paper's problem, on paper")


def page(claims: Sequence[Claim], studies: Mapping[str, Study], missing: Sequence[str]) -> str:
    """All verdicts as a Markdown page."""
    parts = [
        "# What becomes of the paper's claims here\n",
        "Claims of arXiv:2507.16249, measured with this repository's searchers, cost model and space. "
        "Brackets are 95 % intervals over seeds. A claim is borne out, or not, where the whole interval says "
        "so.\n",
        markdown_table(Section("In short", ("claim", "verdict"), [(c.claim, c.verdict) for c in claims])),
    ]
    for claim in claims:
        parts += [
            markdown_table(Section(claim.claim, claim.heads, claim.rows)),
            f"- The paper: {claim.paper}.\n- Here: {claim.why}.\n- Runs: {claim.runs}.\n"
            f"- **Verdict: {claim.verdict}.**\n",
        ]
    if "ablations" in studies:
        parts += list(why_it_works(studies["ablations"]))
    parts.append(markdown_table(Section("Departures that remain", ("what", "the paper", "here"), REMAIN)))
    parts.append("## Caveats\n\n" + "".join(f"- {caveat}\n" for caveat in CAVEATS))
    for name in missing:
        parts.append(f"Not there yet, and so not judged: {name}.\n")
    return "\n".join(parts)


def why_it_works(study: Study) -> Iterator[str]:
    """The ablations as a table."""
    heads = ("variant", *(f"{samples:,} samples" for samples in budgets_up_to(study.budget)))
    variants = [name for name in study.searchers if name != "marl"]
    rows, _ = over_budgets(study, variants)
    yield markdown_table(Section("Why marl works as it does: each variant's loss over marl's", heads, rows))
    final = {name: loss_ratio(study, name, "marl", study.budget).value for name in variants}
    worse = [name for name, ratio in final.items() if above_one(ratio) == "borne out"]
    better = [name for name, ratio in final.items() if above_one(ratio) == "not borne out"]
    yield (
        f"{runs_of(study)}. After {study.budget:,} samples significantly worse than marl: "
        f"{listed(worse)}; better: {listed(better)}. Intervals are not corrected for their number.\n"
    )


def main() -> None:
    """Judge and write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    for name, folder in CAMPAIGNS.items():
        parser.add_argument(f"--{name}", type=Path, default=RESULTS / folder, metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=HERE, metavar="FOLDER")
    asked = parser.parse_args()
    studies, missing = {}, []
    for name in CAMPAIGNS:
        try:
            studies[name] = load_study(getattr(asked, name))
        except InputError as error:
            missing.append(f"{CAMPAIGNS[name]} ({error})")
    if {"own", "clustered"} <= set(studies):
        studies["own"] = joined(studies["own"], studies["clustered"], CLUSTERED)
    claims = judge(studies, read_rows(HERE / "correlations.csv"), read_rows(HERE / "figure7.csv"))
    ablations = studies.get("ablations")
    others = [name for name in ablations.searchers if name != "marl"] if ablations else []
    data = {
        "paper": "arXiv:2507.16249",
        "claims": [asdict(claim) for claim in claims],
        "ablations": list(over_budgets(ablations, others)[1]) if ablations else [],
        "caveats": list(CAVEATS),
        "missing": missing,
    }
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "verdicts.md").write_text(page(claims, studies, missing), encoding="utf-8")
    (asked.out / "verdicts.json").write_text(json.dumps(data, indent=1, allow_nan=False) + "\n", "utf-8")
    for claim in claims:
        print(f"{claim.verdict}: {claim.claim}")


if __name__ == "__main__":
    main()
