"""Examples of other people's packages, installed and used as they would be."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

CLI = "import sys; from dse.cli import main; sys.exit(main())"


def install(example: Path, folder: Path) -> Path:
    """The folder below `folder` that an example has been installed into, without a network."""
    # A copy, because building leaves files beside the sources.
    source = shutil.copytree(example, folder / "source")
    target = folder / "target"
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", str(target)]
    run([sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *options, str(source)])
    return target


def dse(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command, where what is in the folder `installed` is installed."""
    return run([sys.executable, "-c", CLI, *arguments], PYTHONPATH=str(installed))


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """A command that ends well, or with a complaint."""
    ended = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=300
    )
    assert ended.returncode in (0, 2), ended
    return ended
