"""What the site needs beyond its pages: files that they link to, commands, reasons, keys of files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[([^\]]*)\]\(\.\./([^)#\s]*)(?:#[^)\s]*)?\)")
"""The text of a link to what is outside `docs`, and its path; a part of a page is shown with all of it."""


def on_files(files: Any, config: Any) -> Any:
    """Add the files outside `docs` that pages link to."""
    from mkdocs.structure.files import File

    pages = Path(config.docs_dir).glob("*.md")
    linked = {path for page in pages for _, path in LINK.findall(page.read_text("utf-8"))}
    for path in sorted(linked):
        if (ROOT / path).is_file():
            files.append(File.generated(config, _there(path), abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links to those files lead to where the site has them, and links to folders are plain text."""
    for mark, made in (
        ("<!-- commands -->", commands),
        ("<!-- reasons -->", reasons),
        ("<!-- keys -->", keys),
    ):
        if mark in markdown:
            markdown = markdown.replace(mark, made())
    return LINK.sub(
        lambda link: f"[{link[1]}]({_there(link[2])})" if (ROOT / link[2]).is_file() else link[1], markdown
    )


def _there(path: str) -> str:
    """Where the site has a file: Markdown is shown as it stands."""
    return path.replace(".md", ".md.txt")


def reasons() -> str:
    """Why a mapping is infeasible, as Markdown: what the rules say, then what cost models say."""
    from dse.core.reasons import FIRST_RULE, Reason

    lines = ["| label in reports | in words | what it says |", "|---|---|---|"]
    for reason in sorted(list(Reason)[1:], key=lambda reason: reason < FIRST_RULE):
        meaning = "" if reason.meaning == reason.text else reason.meaning
        lines.append(f"| {reason.label} | {reason.text} | {meaning} |")
    return "\n".join(lines)


def rows_of_the_readers() -> dict[tuple[str, str], tuple[set[str], set[str], set[str]]]:
    """By file and table: keys that are read, that change nothing, that are refused if they say anything."""
    from dse.core import timeloop_files
    from dse.domains.levels.formats import zigzag as zigzag_mapping
    from dse.domains.levels.formats import zigzag_machine
    from dse.models.timeloop import yaml_schema
    from workloads.models import timeloop_problem, zigzag_workload

    found: dict[tuple[str, str], tuple[set[str], set[str], set[str]]] = {}
    for kind, read in yaml_schema.READ.items():
        refused = {one.key for one in yaml_schema.REFUSED if one.kind == kind}
        refused |= {"sparse_optimizations"} & set(read)
        names = {name.rstrip("_") for name in read} - refused
        found["Timeloop architecture", kind] = names, set(yaml_schema.NO_CHANGE[kind]), refused
    for kind, read in timeloop_problem.READ.items():
        found["Timeloop problem", kind] = set(read), set(timeloop_problem.NO_CHANGE[kind]), set()
    found["Timeloop problem", "instance"] = {"the dims and coefficients of the shape"}, set(), {"densities"}
    for kind, read in timeloop_files.READ.items():
        found["Timeloop mapping", kind] = set(read), set(timeloop_files.NO_CHANGE[kind]), set()
    for kind, read in zigzag_machine.READ.items():
        rest = set(zigzag_machine.NO_CHANGE[kind]), set(zigzag_machine.SEEN[kind])
        found["ZigZag accelerator", kind] = (set(read), *rest)
    found["ZigZag mapping", "entry"] = set(zigzag_mapping.READ), set(zigzag_mapping.NO_CHANGE), set()
    found["ZigZag workload", "entry"] = set(zigzag_workload.KEYS), set(), set()
    return found


def keys() -> str:
    """What is read of the files of other tools, as Markdown."""
    lines = [
        "| file | table | read | changes nothing | refused if it says anything |",
        "|---|---|---|---|---|",
    ]
    for (file, table), row in rows_of_the_readers().items():
        shown = (", ".join(f"`{key}`" if key.isidentifier() else key for key in sorted(part)) for part in row)
        lines.append(f"| {file} | {table} | {' | '.join(shown)} |")
    return "\n".join(lines)


def commands() -> str:
    """Every command's help as Markdown."""
    import contextlib
    import io

    from dse.cli import main
    from dse.cli.application import build_application

    parts = []
    for name in sorted(build_application().commands):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            main([name, "--help"])
        parts.append(f"## dse {name}\n\n```text\n{text.getvalue().strip()}\n```")
    return "\n\n".join(parts)
