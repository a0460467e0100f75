"""Folders for the tests of pages."""

from __future__ import annotations

from html.parser import HTMLParser

FC_EDP = ("resnet18:fc", "edge", "edp")


class Parsed(HTMLParser):
    """A page's elements with their attributes, and its text as a browser shows it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, name: str) -> list[str]:
        """The values of an attribute."""
        return [
            value or "" for _, attributes in self.elements for key, value in attributes.items() if key == name
        ]
