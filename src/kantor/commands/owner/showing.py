"""Paragraphs under headings, for a person; plain lines where somebody else reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kantor.terminal import console, say

__all__ = ["show_lines", "show_list", "show_next", "show_table"]


def show_lines(title: str, lines: Iterable[str | tuple[str, str]]) -> None:
    """A heading and what stands under it: sentences, or labels with what belongs to them."""
    out = console()
    if not out.is_terminal:
        say(title)
        for line in lines:
            say(f"  {line}" if isinstance(line, str) else f"  {line[0]}: {line[1]}")
        return
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    out.print(Text(title, style="bold"))
    grid: Table | None = None
    for line in [*lines, ""]:
        if isinstance(line, tuple):
            if grid is None:
                grid = Table.grid(padding=(0, 2))
                grid.add_column(no_wrap=True)
                grid.add_column()
            grid.add_row(Text(line[0], style="dim"), Text(line[1]))
            continue
        if grid is not None:
            out.print(Padding(grid, (0, 0, 0, 2), expand=False))
            grid = None
        out.print(Padding(Text(line), (0, 0, 0, 2), expand=False) if line else "")


def show_table(rows: Iterable[Sequence[str]], headings: Sequence[str], whole: Sequence[str] = ()) -> None:
    """A table for a person. whole: columns that are copied from, and never broken."""
    from rich.table import Table
    from rich.text import Text

    shown = Table()
    for heading in headings:
        shown.add_column(heading, no_wrap=heading in whole)
    for row in rows:
        shown.add_row(*map(Text, row))
    console().print(shown)


def show_list(lines: Sequence[str], mark: str = "-") -> None:
    """A list of lines; what is to be copied from them stays in one piece."""
    for line in lines:
        console().print(f"  {mark} {line}", markup=False, soft_wrap=True)


def show_next(text: str, command: str) -> None:
    """What to do next: the command on a line of its own, to be copied in one piece."""
    say(f"{text}:")
    console().print(f"  {command}", markup=False, soft_wrap=True)
