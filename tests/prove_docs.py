"""What the pages show of commands' outputs, of those that take seconds to a minute."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import ROOT
from tests.conftest import Dse
from tests.test_docs import PAGES, check_output, outputs

SHOWN = {
    f"{page}: {asked}": (asked, shown)
    for page in PAGES
    if page == "README.md" or page.startswith("docs/")
    for asked, shown in outputs(page)
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands run, as one may use what another of its page wrote."""
    made = tmp_path_factory.mktemp("docs")
    for name in ("examples", "experiments", "results", "tests"):
        (made / name).symlink_to(ROOT / name)
    return made


@pytest.mark.parametrize(("asked", "shown"), SHOWN.values(), ids=SHOWN)
def test_a_page_shows_what_a_command_prints(
    dse: Dse, monkeypatch: pytest.MonkeyPatch, folder: Path, asked: str, shown: list[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    check_output(dse, asked, shown)
