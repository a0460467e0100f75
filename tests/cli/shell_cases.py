"""What several tests of the shell call."""

from __future__ import annotations

RESNET_ON_EDGE = ("--layer", "resnet18:1", "--accelerator", "edge")
