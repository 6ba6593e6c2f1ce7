"""How a forecast is told: what it says, and what it cannot know."""

from __future__ import annotations

from collections.abc import Iterator

from replical.worlds.forecast import Prediction
from replical.worlds.foretold import Foretold

# What no forecast can know, by its method.
CAVEATS = {
    "votes": "made from the candidates' votes alone, which cannot show that most candidates share a mistake",
    "resampled": "if one of the hypotheses is the truth; real labels often take two to three times as many",
}


def rate(share: float, draws: int) -> str:
    """How often labs differ; what no pair showed is not 0, but less than one pair in so many."""
    if share <= 0:
        return f"< 1/{draws}"
    return f"{100 * share:.2g}%" if share < 1 else "100%"


def labels_words(forecast: Prediction) -> str:
    """Labels a lab, with their range."""
    return f"{forecast.labels_median:,.0f} ({forecast.labels_low:,.0f} to {forecast.labels_high:,.0f})"


def foretold_words(forecast: Foretold, margin: float, budget: int | None) -> Iterator[str]:
    """What a confirmation takes and how it may end; where it may well not, why, and what helps."""
    ends = {"confirmed": forecast.confirmed, "refuted": forecast.refuted, "undecided": forecast.undecided}
    told = ", ".join(f"{name} in {rate(share, forecast.draws)}" for name, share in ends.items())
    yield (
        f"Forecast from the unlabelled items: about {forecast.labels_median:,.0f} labels ({forecast.labels_low:,.0f} to "
        f"{forecast.labels_high:,.0f}); {told} of {worlds(forecast.draws)}, {CAVEATS['votes']} and know nothing of the "
        "certificate."
    )
    easier = f"a larger margin, such as --margin {2 * margin:g}" if 2 * margin < 1 else "a larger margin"
    if forecast.close:
        yield f"Expect thousands of labels: the answer may lie close to the margin. What helps: {easier}."
    elif forecast.open_end:
        limit, more = ("this pool", "pool") if budget is None else (f"a budget of {budget:,} labels", "budget")
        yield f"Probably {limit} will not decide it. What helps: a larger {more}, or {easier}."


def worlds(draws: int) -> str:
    """How many worlds were looked at."""
    return "1 simulated world" if draws == 1 else f"{draws} simulated worlds"
