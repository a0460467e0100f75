"""Chains of layers whose intermediates may stay on chip: the least cost, with the proof."""
