"""Tests: a folder for each package, named alike."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
"""The checkout."""
DATA = Path(__file__).parent / "data"
"""What tests compare with."""
