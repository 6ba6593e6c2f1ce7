"""How a forecast is told: what it says, and what it cannot know."""

from __future__ import annotations

from replical.worlds.forecast import Prediction

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


def worlds(draws: int) -> str:
    """How many worlds were looked at."""
    return "1 simulated world" if draws == 1 else f"{draws} simulated worlds"
