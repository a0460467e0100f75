"""`team`, with what searches of other layers on the same machine have learned.

What a machine's cycles and accesses cost is the same for all layers. So the weights by which counts of loops
add up to figures, which `team` expects from what is published and then learns, are learned from the samples
of those searches: a search of another layer begins with the mappings that they make the best, without
templates, and trusts them as far as they have proved right. The samples count as spent elsewhere.

A folder may have searches on several machines, for several objectives and of any searchers; those on the
searched machine are learned from. That they were priced by the cost model that prices this search is the
user's to see to: searchers do not know it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dse.support.validation import whole_number
from searchers.common.settings import MAX_DATA
from searchers.team import Team

if TYPE_CHECKING:
    from dse.core.space import Space
    from searchers.team.features import Features
    from searchers.team.training import TrainingSet


@dataclass(frozen=True)
class Transfer(Team):
    """`team`, taught by the samples that other searches have left in a folder."""

    n_informed_startup_trials: int = 1
    """Points that it begins with: those that it expects to be the best."""
    source_samples: int = 200
    """Samples of other searches that the critic learns from."""
    folder: str = ""
    """Where the searches are, as `dse search --out` or `dse run` left them, from where this one runs; empty
    for `team` as it is, but for its settings."""

    digest: str = field(init=False, default="")
    """A SHA-256 of what the folder holds."""

    samples_elsewhere: int = field(init=False, default=0)
    """The samples of the searches there."""

    aliases: ClassVar[Mapping[str, str]] = {**Team.aliases, "lessons": "source_samples"}
    random_start: ClassVar[dict[str, Any]] = {**Team.random_start, "folder": ""}

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.source_samples, "source_samples", least=1, most=MAX_DATA)
        if self.folder:
            from searchers.transfer.source_searches import read_searches

            found = read_searches(Path(self.folder))
            object.__setattr__(self, "digest", found.digest)
            object.__setattr__(self, "samples_elsewhere", found.samples)

    def begins(self, space: Space) -> str:
        """With what it begins in a space, in words."""
        return "other searches" if self.folder else super().begins(space)

    def source_training_set(
        self, space: Space, describe: Features, factors: tuple[str, ...]
    ) -> TrainingSet | None:
        """Samples of the searches on the same machine."""
        if not self.folder:
            return None
        from searchers.transfer.source_searches import read_searches, source_training_set

        searches = read_searches(Path(self.folder), self.digest)
        return source_training_set(searches, space, describe, factors, self.source_samples)
