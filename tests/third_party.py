"""Examples of other people's packages, installed and used as they would be."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dse.core import cost_models, domains

CLI = "import sys; from dse.cli import main; sys.exit(main())"


def install(example: Path, folder: Path) -> Path:
    """The folder below `folder` that an example has been installed into, without a network."""
    # A copy, because building leaves files beside the sources.
    source = shutil.copytree(example, folder / "source")
    target = folder / "target"
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", str(target)]
    run([sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *options, str(source)])
    return target


@contextmanager
def found(installed: Path) -> Iterator[None]:
    """Meanwhile this process, and those that it starts, find what is in the folder `installed`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(installed))
        patch.setenv("PYTHONPATH", str(installed))
        # A process looks through what is installed once.
        _forget()
        yield
    _forget()


@contextmanager
def offered(folder: Path, models: dict[str, type]) -> Iterator[None]:
    """Meanwhile classes of tests are installed as cost models, by name, as by a package of others."""
    info = folder / "offered-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: offered\nVersion: 1.0\n")
    lines = "\n".join(f"{name} = {made.__module__}:{made.__qualname__}" for name, made in models.items())
    (info / "entry_points.txt").write_text(f"[{cost_models.GROUP}]\n{lines}\n")
    with found(folder):
        yield


def _forget() -> None:
    cost_models._entries.cache_clear()
    domains._entries.cache_clear()


def offer(module: Path, folder: Path, entries: dict[str, dict[str, str]]) -> Path:
    """The folder into which a package of one module is put as if installed; `entries` are by group."""
    folder.mkdir()
    shutil.copy(module, folder)
    about = folder / f"{module.stem}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module.stem}\nVersion: 1.0\n")
    groups = (
        f"[{group}]\n" + "".join(f"{name} = {at}\n" for name, at in named.items())
        for group, named in entries.items()
    )
    (about / "entry_points.txt").write_text("\n".join(groups))
    return folder


def dse(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, where what is in the folder `installed` is installed."""
    return run([sys.executable, "-c", CLI, *arguments], PYTHONPATH=str(installed))


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """A command that ends well, or with a complaint."""
    ended = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=300
    )
    assert ended.returncode in (0, 2), ended
    return ended
