"""Faults put into a copy of the code on purpose: the tests must see each of them."""
