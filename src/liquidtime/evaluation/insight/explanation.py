"""The complete explanation of a model: on a page, in a notebook, as images."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from liquidtime.evaluation.insight.circuit import Circuit
from liquidtime.evaluation.insight.gap_response import GapResponse
from liquidtime.evaluation.insight.importance import Importances
from liquidtime.evaluation.insight.neighbours import SimilarSeries
from liquidtime.evaluation.insight.observation_effects import ObservationEffects
from liquidtime.evaluation.insight.shown import Shown
from liquidtime.evaluation.insight.state_trajectories import StateTrajectories
from liquidtime.evaluation.insight.units import Units
from liquidtime.evaluation.templates import fill


@dataclass(frozen=True, eq=False)
class Section:
    """One part of a page.

    Args:
        name: name that is unique within the page.
        title: heading.
        words: summary in a sentence or two.
        figures: pairs (SVG, caption).
        similar: tables of similar series.
        moving: an animated image in base64, and its caption.
        wide: whether figures need more width.
    """

    name: str
    title: str
    words: str = ""
    figures: Sequence[tuple[str, str]] = ()
    similar: Sequence[SimilarSeries] = ()
    moving: tuple[str, str] | None = None
    wide: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What a model uses, why it made a prediction, how it uses time, and how it is wired; returned by `lt.explain`.

        explanation                           displayed in a notebook, printed as text
        explanation.importances.plot()        one figure; the other parts have `plot` too
        explanation.save("explain.html")      everything on one page
        explanation.pictures("folder")        everything as images

    Args:
        importances: which channels matter; None if there are too few series.
        effects: effects of observations, per explained series.
        units: time constants of the networks' units; None, like the next three, if networks do not step through time.
        response: response to one observation, by the gap before it.
        states: states over the first explained series.
        circuit: circuit of the first network, with its activity over the first explained series.
        similar: training series similar to each explained one; empty if the model folder stores none.
    """

    importances: Importances | None
    effects: Sequence[ObservationEffects] = ()
    units: Units | None = None
    response: GapResponse | None = None
    states: StateTrajectories | None = None
    circuit: Circuit | None = None
    similar: Sequence[SimilarSeries] = field(default_factory=list)

    def figures(self) -> dict[str, Shown]:
        """Return all figures, by name."""
        named: dict[str, Shown | None] = {"importance": self.importances}
        named |= {f"series-{place}": effect for place, effect in enumerate(self.effects)}
        named |= {"units": self.units, "response": self.response, "states": self.states, "circuit": self.circuit}
        return {name: shown for name, shown in named.items() if shown is not None}

    def words(self) -> str:
        """Return a summary as text."""
        said = [] if self.importances is None else [self.importances.words()]
        said += [effect.words() for effect in self.effects]
        return " ".join(said)

    def sections(self, *, moving: bool = False) -> list[Section]:
        """Return the sections of the page.

        Args:
            moving: whether to add the circuit's activity as an animated image.
        """

        def drawn(*parts: tuple[str, Shown | None]) -> list[tuple[str, str]]:
            return [(part.svg(f"insight-{name}"), part.caption()) for name, part in parts if part is not None]

        sections = []
        if self.importances is not None:
            figure = drawn(("importance", self.importances))
            sections.append(Section("importance", "Which channels matter", self.importances.words(), figure))
        if self.effects:
            figures = drawn(*((f"series-{place}", effect) for place, effect in enumerate(self.effects)))
            sections.append(Section("why", "Why this prediction, and when", "", figures, wide=True))
        figures = drawn(("units", self.units), ("response", self.response), ("states", self.states))
        if figures:
            sections.append(Section("time", "How the network uses time", "", figures))
        if self.circuit is not None:
            gif = None
            if moving and self.circuit.activity is not None:
                raw = base64.b64encode(self.circuit.gif(frames=30, dpi=60)).decode()
                gif = (raw, f"Activity over series {self.circuit.activity.id}: red above 0, blue below.")
            sections.append(Section("circuit", "The circuit", "", drawn(("circuit", self.circuit)), moving=gif))
        if self.similar:
            words = (
                "The training series whose final states in the networks are most similar; 1 is the usual distance "
                "between two series."
            )
            sections.append(Section("similar", "Similar series", words, similar=self.similar))
        return sections

    def page(self, title: str = "Inside the model") -> str:
        """Return everything as one self-contained HTML page.

        Raises:
            ImportError: matplotlib, jinja2, networkx or pillow is not installed.

        """
        return fill("explanation.html", title=title, words=self.words(), sections=self.sections(moving=True))

    def save(self, path: str | Path, title: str = "Inside the model") -> Path:
        """Write the page.

        Args:
            path: path of the HTML file, which is replaced if it exists.
            title: title of the page.

        """
        from liquidtime.files.whole_files import write_file

        file = Path(path)
        write_file(file.absolute(), self.page(title).encode())
        return file

    def pictures(self, folder: str | Path, ending: str = ".png") -> list[Path]:
        """Write every figure as an image, and the circuit's activity as a GIF.

        Args:
            folder: folder to write to, which is created if it does not exist.
            ending: extension, such as ".png", ".svg" or ".pdf".

        """
        home = Path(folder)
        home.mkdir(parents=True, exist_ok=True)
        files = []
        for name, shown in self.figures().items():
            files.append(home / f"{name}{ending}")
            shown.plot(files[-1])
        if self.circuit is not None and self.circuit.activity is not None:
            files.append(self.circuit.animate(home / "circuit.gif"))
        return files

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, ready for JSON."""
        return {
            "words": self.words(),
            "importances": None if self.importances is None else self.importances.to_rows(),
            "effects": [row for effect in self.effects for row in effect.to_rows()],
            "units": [] if self.units is None else [vars(unit) for unit in self.units.units],
            "similar": {one.id: [vars(near) for near in one.neighbours] for one in self.similar},
        }

    def plot(self, name: str = "importance") -> Any:
        """Return one figure as a `matplotlib.figure.Figure`.

        Args:
            name: one of `figures()`.

        """
        from liquidtime._checks import check_choice

        figures = self.figures()
        check_choice("name", name, figures)
        return figures[name].plot()

    def __repr__(self) -> str:
        parts = [self.words(), "" if self.units is None else self.units.words(), *(one.words() for one in self.similar)]
        return "\n".join(part for part in parts if part)

    def _repr_html_(self) -> str:
        cards = "".join(shown._repr_html_() for shown in self.figures().values())
        similar = "".join(one._repr_html_() for one in self.similar)
        return f"<div><p><b>{escape(self.words())}</b></p>{cards}{similar}</div>"
