"""Policies in few bits: tables and figures of QuaRL (Lam, Krishnan et al.) again, on what is cheap here."""
