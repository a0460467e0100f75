"""Optima of even and of uneven nests beside those of AccelForge's mapper."""
