"""The live view of the demo: a picture that moves in a terminal, lines where there is none."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from kantor.demo.scene import STAGES, Scene

__all__ = ["View"]

_NEWS = 7


class View:
    """Shows a scene while it goes on."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._live = Live(console=console, refresh_per_second=8, transient=False) if console.is_terminal else None
        self._told: set[str] = set()

    def __enter__(self) -> View:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: BaseException | TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

    def note(self, text: str) -> None:
        """Something that is done before the market begins."""
        self.console.print(text, markup=False, highlight=False)

    def show(self, scene: Scene, processes: dict[str, int]) -> None:
        """The scene as it is now."""
        if self._live is not None:
            self._live.update(self._picture(scene, processes))
        elif scene.state not in self._told:
            self._told.add(scene.state)
            self.note(f"  {scene.seconds:5.1f} s  {scene.state}")

    def _picture(self, scene: Scene, processes: dict[str, int]) -> RenderableType:
        at_work = " · ".join(f"{count} {name}" for name, count in processes.items())
        below = Text(f"at work: {at_work}", style="dim")
        parts = Group(_stages(scene), Text(), _bars(scene), Text(), _news(scene), Text(), below)
        return Panel(parts, title="a market, from enrolment to settlement", subtitle=f"{scene.seconds:.0f} s", width=84)


def _stages(scene: Scene) -> Text:
    text = Text()
    place = STAGES.index(scene.state) if scene.state in STAGES else -1
    for number, stage in enumerate(STAGES):
        mark, style = ("●", "green") if number < place else ("◉", "bold yellow") if number == place else ("○", "dim")
        text.append(f"{mark} {stage}", style=style)
        text.append("  " if number + 1 < len(STAGES) else "")
    return text


def _bars(scene: Scene) -> Table:
    rows: list[tuple[str, int, int]] = [
        ("enrolled", scene.counts["enrolled"], scene.owners),
        ("sealed bids", scene.counts["bid"], scene.owners),
        ("delivered", scene.counts["delivered"], scene.bought or 0),
    ]
    table = Table.grid(padding=(0, 2))
    for name, done, whole in rows:
        bar: Any = ProgressBar(total=max(whole, 1), completed=done, width=42)
        table.add_row(name, bar, f"{done} of {whole}" if whole else "")
    return table


def _news(scene: Scene) -> Text:
    text = Text()
    for at, what in scene.news[-_NEWS:]:
        text.append(f"{at}  ", style="dim")
        text.append(f"{what}\n")
    text.append("\n" * max(0, _NEWS - len(scene.news)))
    return text
