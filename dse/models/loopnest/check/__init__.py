"""Checks of certificates under `loopnest`, written from the model's definition."""
