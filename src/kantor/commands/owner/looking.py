"""`kantor owner inspect`: a market in plain words, before anything leaves the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kantor.commands.options import Json, show_rows
from kantor.commands.owner.reaching import HOME, HomeFolder, MarketId, agent_at
from kantor.commands.owner.showing import show_lines
from kantor.errors import InputError
from kantor.terminal import Progress, print_json, say

if TYPE_CHECKING:
    from kantor.service.agent.outlook import Outlook
    from kantor.service.agent.owner import OwnerAgent
    from kantor.service.terms import Terms

__all__ = ["inspect", "known_distance", "show_leaving"]


def inspect(market: MarketId, home: HomeFolder = HOME, as_json: Json = False) -> None:
    """A market in plain words: its terms, whether your data fit, what would leave this machine and what it would cost.

    Example: kantor owner inspect 9f2c5a1b7d3e4f60
    """
    from kantor.service.agent.fitting import terms_of

    with agent_at(home, market) as agent:
        about = agent.about()
        terms = terms_of(about)
        if not as_json:
            _show_terms(terms, about)
        with Progress("Looking at your data", quiet=as_json):
            found = _own(agent, terms)
    if as_json:
        print_json(_plain(terms, about, *found))
    else:
        _show_own(agent, terms, *found)


def _own(agent: OwnerAgent, terms: Terms) -> tuple[str | None, list[Outlook]]:
    """The own distance if it is known, and what several epsilons would mean; an error if the data do not fit."""
    from kantor.service.agent.outlook import outlooks

    agent.fitting_data(terms)
    return known_distance(agent, terms), outlooks(terms, agent.home, agent.market)


def known_distance(agent: OwnerAgent, terms: Terms) -> str | None:
    """How far the data lie from the target, as far as this machine can know."""
    from kantor.service.agent.fitting import distance_of
    from kantor.service.agent.standing import enrolled

    if terms.valuation.way == "public":
        return distance_of(terms, agent.fitting_data(terms), None)
    place = enrolled(agent)
    return None if place is None else place["distance"]


def _show_terms(terms: Terms, about: dict[str, Any]) -> None:
    from kantor.service.agent.plain_words import words_of

    say(f"{terms.title} (market {about['id']}, {about['state']})")
    say("")
    for section in words_of(terms, about):
        show_lines(section.title, section.lines)


def _show_own(agent: OwnerAgent, terms: Terms, distance: str | None, found: list[Outlook]) -> None:
    import polars as pl

    from kantor.service.agent.outlook import left_now

    values = agent.home.data
    where = "" if distance is None else f" They lie {float(distance):.4g} from the target."
    show_lines(
        "Your data",
        [
            f"They fit: {values.size:,} values from {values.min():g} to {values.max():g}.{where}",
            _unit_line(agent, terms),
        ],
    )
    show_leaving(terms, distance)
    table = pl.DataFrame(
        {
            "epsilon": [float(one.epsilon) for one in found],
            "noise_sd": [one.deviation for one in found],
            "noise_distance": [float(one.noise) for one in found],
            "distance": [None if (total := one.total(distance)) is None else float(total) for one in found],
            "left": ["does not fit" if one.left is None else f"{one.left:.6g}" for one in found],
        }
    )
    headings = ["epsilon", "noise on each value (sd)", "adds to distance", "distance in all", "left after a sale"]
    if distance is None:
        table, headings = table.drop("distance"), [*headings[:3], headings[4]]
    show_rows(table, "More epsilon: less noise, more likely bought, less privacy", headings)
    say(f"Of your balance, epsilon {left_now(agent.home, agent.market):.6g} is left. You choose epsilon when you bid.")


def _unit_line(agent: OwnerAgent, terms: Terms) -> str:
    from kantor.service.agent.fitting import check_unit, hides

    try:
        check_unit(agent.home, terms)
    except InputError as fault:
        return f"{fault.problem}. {fault.remedy}"
    return f"The noise hides {hides(terms.privacy.unit)}, which is what your balance counts."


def show_leaving(terms: Terms, distance: str | None = None) -> None:
    """What leaves this machine, and what never does."""
    from kantor.service.agent.plain_words import leaving, never_leaving

    show_lines("What leaves this machine", leaving(terms, distance))
    show_lines("What never does", [", ".join(never_leaving())])


def _plain(terms: Terms, about: dict[str, Any], distance: str | None, found: list[Outlook]) -> dict[str, Any]:
    from kantor.service.agent.plain_words import leaving, never_leaving, truth_is_best

    return {
        "market": about["id"],
        "state": about["state"],
        "now": about["now"],
        "terms": terms.plain,
        "truth_is_best": truth_is_best(terms),
        "distance": distance,
        "noise": [one.as_dict(distance) for one in found],
        "leaves": dict(leaving(terms, distance)),
        "never_leaves": never_leaving(),
    }
