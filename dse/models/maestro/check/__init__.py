"""Checks of certificates under MAESTRO, written from its specification."""
