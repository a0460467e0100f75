"""Machines that come with the package, as TOML files; `presets` finds them by name."""
