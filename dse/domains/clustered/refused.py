"""What mappings that a judge refused have in common, and none that it ran: rules that it may have.

A proof on a fitted machine knows nothing of them, and may land on a mapping that the judge refuses. Rules are
over the genes that `--fix` leaves several values: the cluster size and the parallel dims.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.domains.clustered.space.parts import other_choices
from dse.support.arrays import IntArray

CLUSTER = "cluster"
GENES = (CLUSTER, "outer.parallel", "inner.parallel")
RISK = "an optimum may be a mapping that it refuses"


class Answers(NamedTuple):
    """The values of GENES of the mappings that a judge refused, and of those that it ran; all that there are.

    A gene that the space lacks, as where clusters come by fit, is in none.
    """

    refused: dict[str, list[Any]]
    ran: dict[str, list[Any]]
    choices: dict[str, set[Any]]

    @classmethod
    def of(cls, space: MappingSpace, refused: IntArray, ran: IntArray) -> Answers:
        """Of points (n, genes) of a space."""
        choices = other_choices(space.accelerator, space.fixed, space.parts)
        genes = [gene for gene in GENES if gene in choices]
        refusals, runs = (
            {gene: named[gene].tolist() for gene in genes}
            for named in (space.decode(points).named() for points in (refused, ran))
        )
        return cls(refusals, runs, {gene: set(choices[gene]) for gene in genes})


def refused_in_words(answers: Sequence[Answers]) -> str:
    """How many samples judges refused, and what may leave such mappings out; empty where none was refused."""
    genes = [gene for gene in GENES if all(gene in each.choices for each in answers)]
    refused, ran = ({gene: _pooled(answers, part, gene) for gene in genes} for part in ("refused", "ran"))
    count = max((len(values) for values in refused.values()), default=0)
    if not count:
        return ""
    rules = [
        _rule(gene, set(refused[gene]), set(ran[gene]), set(_pooled(answers, "choices", gene)))
        for gene in genes
    ]
    said = f"the judge refused {count} sample{'s' * (count != 1)}"
    if found := " or ".join(filter(None, rules)):
        return f"{said}; {found} leaves them out, and nothing that it ran: without that {RISK}"
    return f"{said}, and no cluster size or parallel dim tells them from those that it ran: {RISK}"


def _rule(gene: str, refused: set[Any], ran: set[Any], choices: set[Any]) -> str:
    """The option that leaves out all that was refused and nothing that was run; empty where there is none.

    Cluster sizes are those up to the largest that was run, or from the smallest on, as a machine has limits.
    """
    left = choices - refused
    if gene == CLUSTER and ran:
        above, below = min(refused) > max(ran), max(refused) < min(ran)
        left = {size for size in choices if (above and size <= max(ran)) or (below and size >= min(ran))}
    if not left or not ran or refused & ran:
        return ""
    return f"--fix {gene}={','.join(map(str, sorted(left)))}"


def _pooled(answers: Sequence[Answers], part: str, gene: str) -> list[Any]:
    return [value for each in answers for value in getattr(each, part)[gene]]
