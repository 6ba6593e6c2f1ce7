"""How many labels are left, told to whoever runs while others label.

The estimate is made when 16, 32, 64, .. labels are known, beside the run: it never changes what is asked, when a run stops
or how long an answer takes. It speaks of counts alone, and so seldom that nobody can read from it what a single label did
to the candidates. The journal keeps it, so that pages on other machines show it too, and a run that goes on tomorrow.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from replical.classes.table import PredictionTable
from replical.core.words import rounded
from replical.errors import ReplicalError
from replical.lab.journal import Event
from replical.lab.session import Session
from replical.worlds.remaining import Remaining, remaining
from replical.worlds.supposed import votes_on
from replical.worlds.votes import Votes

FIRST = 16  # labels before the first estimate; then always twice as many


class Outlook:
    """Estimates of the labels left.

    Parameters
    ----------
    session
        The run.
    tell
        Called with a line of text when an estimate is finished, from another thread.
    expected
        Labels that were foretold before the first, without those that measure the error; what the journal says if left out.
    looks
        Are estimates made while labels come? If not, `expected` is all that is known.

    Attributes
    ----------
    latest
        The last estimate that was finished; None where nothing is known.
    """

    def __init__(
        self,
        session: Session,
        tell: Callable[[str], None] = lambda _: None,
        *,
        expected: float | None = None,
        looks: bool = True,
    ) -> None:
        self._session, self._tell, self._next, self._looks = session, tell, FIRST, looks
        self._kept = session.ledger.estimate
        self._expected = self._kept if expected is None else expected + session.measuring
        self._votes: Votes | None = None
        self._thread: threading.Thread | None = None
        self.latest: Remaining | None = None

    def look(self) -> None:
        """Begin an estimate beside the run if it is time for one. To be called by whoever changes the session."""
        session = self._session
        count = len(session.ledger.labels)
        self._keep()
        busy = not self._looks or (self._thread is not None and self._thread.is_alive())
        if count < self._next or busy or not isinstance(session.protocol.recipe.C, PredictionTable) or session.ended:
            return
        while self._next <= count:
            self._next *= 2
        known = (session.heard, list(session.ledger.skipped))  # copies: the run goes on meanwhile
        self._thread = threading.Thread(target=self._beside, args=known, daemon=True)
        self._thread.start()

    def _keep(self) -> None:
        """In the journal. An estimate that cannot be written stops nothing: the next answer will be refused if need be."""
        whole = self._whole()
        if whole is None or round(whole) == self._kept or self._session.ended:
            return
        with suppress(ReplicalError):
            self._session.journal.append([Event(kind="estimate", detail={"labels": round(whole)})])
            self._kept = round(whole)

    def _whole(self) -> float | None:
        """About how many labels it will be in all."""
        found = self.latest
        return self._expected if found is None else found.labels + found.median

    def _beside(self, heard: Mapping[int, int], skipped: list[str]) -> None:
        self._estimate(heard, skipped)
        if self.latest is not None and self.latest.labels == len(heard) and not self._session.ended:
            self._tell(self.latest.words)

    def now(self) -> Remaining | None:
        """An estimate of this moment, waited for."""
        session = self._session
        if isinstance(session.protocol.recipe.C, PredictionTable) and not session.ended:
            self._estimate(session.heard, list(session.ledger.skipped))
        return self.latest

    def left(self) -> str:
        """About how many labels are left, by the last estimate or the forecast, for the end of a line; empty if unknown."""
        heard, whole = len(self._session.ledger.labels), self._whole()
        return "" if whole is None or whole < heard + 1 else f"about {rounded(whole - heard):,} left"

    def wait(self) -> None:
        """Until the estimate under way is finished."""
        if self._thread is not None:
            self._thread.join()

    def figures(self) -> dict[str, Any] | None:
        """The last estimate, for an answer in JSON."""
        found = self.latest
        if found is None:
            return None
        return {"labels": found.labels, "left_low": found.low, "left_median": found.median, "left_high": found.high}

    def _estimate(self, heard: Mapping[int, int], skipped: list[str]) -> None:
        session = self._session
        pool, protocol = session.pool_without(skipped), session.protocol
        self._votes = self._votes or votes_on(pool, protocol.prior)
        if self._votes is None:  # too few items to say anything
            return
        try:
            self.latest = remaining(session.learner, pool, protocol.shared, self._votes, heard, nu=protocol.given("nu"))
        except ReplicalError:  # the rest of the run cannot be imagined; the run itself will say why
            self.latest = None
