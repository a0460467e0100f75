"""What the tests of co-design share."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.optimum.codesign import branch, machine
from dse.optimum.verification import codesign as verification
from tests.cli.test_codesign_cli import NETWORK, SPACE
from tests.optimum.small_proofs import begin_with_few_points


@pytest.fixture(autouse=True)
def few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proofs begin with few random mappings of few machines, which hide less of a bound that is too high."""
    begin_with_few_points(monkeypatch)
    monkeypatch.setattr(branch, "TRIED_MACHINES", 2)
    monkeypatch.setattr(machine, "RANDOM_MAPPINGS", 200)


@pytest.fixture(scope="session")
def proofs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache: what one test has proven is proven for the next."""
    return tmp_path_factory.mktemp("proofs")


@pytest.fixture(autouse=True)
def users_own_proofs_are_left_alone(monkeypatch: pytest.MonkeyPatch, proofs: Path) -> None:
    """What a test keeps without naming a folder is kept in its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(proofs))


@pytest.fixture
def given(tmp_path: Path) -> tuple[str, ...]:
    """A network and a space of hardware, as options."""
    (tmp_path / "space.toml").write_text(SPACE)
    (tmp_path / "net.toml").write_text(NETWORK)
    return ("--network", str(tmp_path / "net.toml"), "--hardware", str(tmp_path / "space.toml"), "--fresh")


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check draws less."""
    monkeypatch.setattr(verification, "DRAWN_NETWORKS", 3)
    monkeypatch.setattr(verification, "DRAWN_LEMMAS", 10)
    monkeypatch.setattr(verification, "DRAWN_MAPPINGS", 500)
