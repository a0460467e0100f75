"""Machines that come with the package, as TOML files; `dse.cost.timeloop.presets` finds them by name."""
