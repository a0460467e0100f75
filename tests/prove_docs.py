"""What the pages show of commands' outputs, of those that take seconds to a minute."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT
from tests.conftest import Dse
from tests.test_docs import PAGES, check_output, outputs, write_files

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
    write_files(made)
    return made


@pytest.mark.parametrize(("asked", "shown"), SHOWN.values(), ids=SHOWN)
def test_a_page_shows_what_a_command_prints(
    dse: Dse, monkeypatch: pytest.MonkeyPatch, folder: Path, asked: str, shown: list[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    check_output(dse, asked, shown)


def test_the_searcher_of_the_tutorial_comes_as_near_as_it_says(folder: Path) -> None:
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    asked, said = re.findall(r"^\$ python (\S+)\n(.*?)```", text, re.DOTALL | re.MULTILINE)[0]
    done = subprocess.run([sys.executable, asked], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout == said
