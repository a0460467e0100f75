"""The claims of arXiv:2507.16249, and what becomes of them here."""
