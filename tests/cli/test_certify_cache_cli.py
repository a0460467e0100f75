"""`dse certify` finds again what was proven."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import dse as package
from dse.cli import main
from dse.core.certificate import Certificate, ProofInterrupted
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.optimum import cache as kept
from dse.optimum import certify
from dse.optimum.network import certify_network
from dse.support.errors import InputError, StorageError
from tests.cli.certify_options import problem
from workloads import load_layer


@pytest.fixture(autouse=True)
def user_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache folder, inside this test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "dse-arena" / "certificates"


# Certificates that are kept


def test_what_was_proven_is_found_again(user_cache: Path) -> None:
    first, second = certify(problem()), certify(problem())
    assert (first.cached, second.cached) == (False, True)
    assert (first.best, first.counts) == (second.best, second.counts)
    assert [path.name for path in user_cache.iterdir()] == [f"{problem().fingerprint}.json"]


def test_a_folder_may_be_given_and_none_at_all(tmp_path: Path, user_cache: Path) -> None:
    certify(problem(), cache=tmp_path / "mine")
    assert certify(problem(), cache=str(tmp_path / "mine")).cached
    assert not certify(problem(), cache=False).cached
    assert not user_cache.exists()


def test_a_kept_certificate_that_is_damaged_or_untrue_is_proven_again(user_cache: Path) -> None:
    right = certify(problem())
    path = user_cache / f"{problem().fingerprint}.json"
    text = path.read_text()
    data = json.loads(text)

    def with_changes(**changes: Any) -> str:
        changed = {**data["certificate"], **changes}
        return json.dumps({**data, "digest": kept.digest_of(changed), "certificate": changed})

    best = data["certificate"]["best"]
    worse = certify(problem("energy"), cache=False).best
    assert worse is not None
    for damage in (
        text[: len(text) // 2],
        "",
        "[]",
        json.dumps({**data, "code": "another version"}),
        with_changes(lower_bound=0.9 * right.lower_bound),
        with_changes(best={**best, "loss": 0.9 * best["loss"]}),
        with_changes(best={**best, "loss": 0.9 * best["loss"]}, lower_bound=0.9 * best["loss"]),
        with_changes(best={**best, "mapping": worse.mapping.to_dict()}),
        with_changes(best=None),
        with_changes(status="bounded"),
        with_changes(certificate={}),
        json.dumps({**data, "digest": "0" * 64}),
        text.replace('"seconds": ', '"seconds": 1'),
        "[" * 100_000,
        '{"code": ' + "9" * 6000 + "}",
    ):
        path.write_text(damage)
        again = certify(problem())
        assert not again.cached, damage[:80]
        assert again.best == right.best
        assert path.read_text() != damage


def test_what_is_no_file_is_not_waited_for(user_cache: Path) -> None:
    user_cache.mkdir(parents=True)
    os.mkfifo(user_cache / f"{problem().fingerprint}.json")
    assert not certify(problem()).cached


def test_a_killed_run_leaves_nothing_that_harms(user_cache: Path) -> None:
    user_cache.mkdir(parents=True)
    (user_cache / f".{problem().fingerprint}.json.1.part").write_text('{"code": ')
    assert not certify(problem()).cached
    assert certify(problem()).cached


def test_that_nothing_is_feasible_is_kept_too() -> None:
    first, second = certify(problem(layer="alexnet:conv1")), certify(problem(layer="alexnet:conv1"))
    assert (first.status, second.status) == ("infeasible", "infeasible")
    assert (first.cached, second.cached) == (False, True)


def test_a_home_that_cannot_be_written_to_costs_only_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert certify(problem()).status == "optimal"
    with pytest.raises(StorageError, match="cannot be made"):
        certify(problem(), cache=tmp_path / "file" / "mine")


def test_certificates_go_where_the_desktop_rules_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert kept.user_folder() == tmp_path / ".cache" / "dse-arena" / "certificates"


def test_another_problem_has_another_file(user_cache: Path) -> None:
    for objective in ("latency", "energy"):
        certify(problem(objective))
    certify(Problem(load_layer("resnet18:5"), PRESETS["edge"], cost_model="maestro", fixed={"cluster": 4}))
    assert len(list(user_cache.iterdir())) == 3


def test_a_network_that_was_stopped_goes_on_with_what_it_proved(user_cache: Path) -> None:
    problems = {spec: problem("latency", spec) for spec in ("resnet18:1", "resnet18:5", "resnet18:6")}

    def stop(layer: str) -> None:
        if layer == "resnet18:5":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        certify_network("resnet18", "edge", problems, observe=stop)
    data = certify_network("resnet18", "edge", problems)
    assert [entry["certificate"]["cached"] for entry in data["layers"]] == [True, True, False]


def test_ctrl_c_shows_the_best_mapping_the_bound_and_the_gap(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def interrupted(asked: Any, time_limit: float | None, **options: Any) -> Certificate:
        raise ProofInterrupted(certify(asked, 1e-9, **options))

    monkeypatch.setattr("dse.optimum.default.prove", interrupted)
    command = ["certify", "--layer", "resnet18:5", "--accelerator", "edge", "--objective", "edp", "--json"]
    assert main(command) == 130
    shown = capfd.readouterr()
    entry = json.loads(shown.out)
    assert entry["status"] == "bounded"
    assert 0 < entry["lower_bound"] < entry["best"]["loss"]
    assert "the same command goes on from there" in shown.err
    assert main(command[:-1]) == 130
    said = capfd.readouterr().out
    assert "best found, at most" in said
    assert "no mapping is below" in said


def test_the_package_names_what_it_makes() -> None:
    assert isinstance(certify(problem(), cache=False), package.Certificate)
    with pytest.raises(InputError, match="problem must be a Problem"):
        package.certify("resnet18:5")  # type: ignore[arg-type]
