"""What the site needs beyond its pages: the files that they link to, and every command with its options."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

LINK = re.compile(r"\]\(\.\./((?:results|examples|experiments)/[^)#\s]*)")


def on_files(files: Any, config: Any) -> Any:
    """Add what pages link to outside `docs`, where it is a file."""
    from mkdocs.structure.files import File

    root = Path(config.docs_dir).parent
    linked = {
        link for page in Path(config.docs_dir).glob("*.md") for link in LINK.findall(page.read_text("utf-8"))
    }
    for link in sorted(linked):
        if (root / link).is_file():
            files.append(
                File.generated(config, link.replace(".md", ".md.txt"), abs_src_path=str(root / link))
            )
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links to those files lead to where the site has them, and links to folders are plain text."""
    if "<!-- commands -->" in markdown:
        markdown = markdown.replace("<!-- commands -->", commands())
    return LINK.sub(lambda link: "](" + link[1].replace(".md", ".md.txt"), markdown)


def commands() -> str:
    """Every command's help as Markdown."""
    import contextlib
    import io

    from dse.cli import main
    from dse.cli.commands import __path__ as folder

    parts = []
    for path in sorted(Path(folder[0]).glob("[!_]*.py")):
        name, text = path.stem.rstrip("_").replace("_", "-"), io.StringIO()
        with contextlib.redirect_stdout(text):
            main([name, "--help"])
        parts.append(f"## dse {name}\n\n```text\n{text.getvalue().strip()}\n```")
    return "\n\n".join(parts)
