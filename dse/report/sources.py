"""What a campaign's folder holds: `curves.parquet`, and what is newer than it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dse.campaign.curves import CURVES, read_curves
from dse.campaign.summary import Summary
from dse.errors import InputError


def read_folder(folder: Path) -> tuple[list[Summary], dict[str, Any]]:
    """The finished cells in a campaign's folder, and what the campaign was."""
    path = folder / CURVES
    if not path.is_file():
        raise InputError(f"{str(folder)!r} holds no {CURVES}; name a folder in which `dse run` has ended")
    return read_curves(path)
