"""One module per command, found by name: `command` is its function, or a Typer of subcommands.

Every run imports them all, so a module here imports at its top only what is light.
"""
