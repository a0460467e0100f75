"""What the site needs beyond its pages: files that they link to, every command, and every reason."""

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
    for mark, made in (("<!-- commands -->", commands), ("<!-- reasons -->", reasons)):
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


def commands() -> str:
    """Every command's help as Markdown."""
    import contextlib
    import io

    from dse.cli import main
    from dse.cli.application import build

    parts = []
    for name in sorted(build().commands):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            main([name, "--help"])
        parts.append(f"## dse {name}\n\n```text\n{text.getvalue().strip()}\n```")
    return "\n\n".join(parts)
