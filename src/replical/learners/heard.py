"""Labels that were heard once are not asked again: several runs on one data set pay for each of its labels once."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from replical.learners.base import Conversation
from replical.learners.result import Result
from replical.pools.query import Answers


class Heard:
    """The labels heard about each item of each data set, in the order heard.

    An item of a lab has one label. The items of a simulated pool are cells that occur several times: the second time a
    run asks about a cell it hears the cell's second label, so every run hears independent labels, as with fresh ones.
    """

    def __init__(self) -> None:
        self._labels: defaultdict[tuple[int, int], list[NDArray[np.int64]]] = defaultdict(list)

    def asking_once(self, conversation: Conversation, data_set: int) -> Conversation:
        """The same run on a data set of a finite pool; only what no run has heard is asked, and remembered."""
        times: Counter[int] = Counter()
        try:
            query = next(conversation)
            while True:
                places = []
                for item in query.items.tolist():
                    places.append((self._labels[data_set, item], times[item]))
                    times[item] += 1
                new = np.array([time >= len(labels) for labels, time in places], dtype=np.bool_)
                if new.all():
                    answers = yield query
                elif new.any():
                    answers = yield replace(query, items=query.items[new], counts=query.counts[new])
                if new.any():
                    for item, label in zip(answers.items.tolist(), answers.counts, strict=True):
                        self._labels[data_set, item].append(label)
                if not new.all():
                    answers = Answers(items=query.items, counts=np.array([labels[time] for labels, time in places]))
                query = conversation.send(answers)
        except StopIteration as stop:
            result: Result = stop.value
            return result
