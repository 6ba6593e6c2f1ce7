"""A public recipe that makes a finite class of any model family: estimators, settings, and seeds from the string.

    schema = "replical.candidates/1"
    seed = "any published text"
    label = "diagnosis"                 # the column of labels in the public table
    labels = ["benign", "malignant"]    # their order is public
    features = ["age", "size"]          # the columns that models look at
    held_out = 0.3                      # share of the public rows that make the order, and are not fitted on

    [[model]]
    name = "forest"
    estimator = "sklearn.ensemble.RandomForestClassifier"
    bootstraps = 5                      # fits on rows drawn with repetition; 0: one fit on all rows
    scale = true                        # features are brought to mean 0 and deviation 1, by the public rows
    grid = { max_depth = [2, 4, 8] }    # every combination

A candidate's name is that of its model, its place in the grid and its bootstrap; its random numbers come from the seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Label, label_set
from replical.core.canonical import fingerprint
from replical.core.exact import check_between
from replical.core.files import read_toml
from replical.core.randomness import SharedRandomness, below
from replical.errors import BadRecipe, ReplicalError

SCHEMA = "replical.candidates/1"
_TOP = ("schema", "title", "seed", "label", "labels", "features", "held_out", "model")
_MODEL = ("name", "estimator", "bootstraps", "scale", "grid")
_MOST = 100_000  # candidates


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One model that is to be fitted."""

    name: str  # in protocols and tables
    estimator: str  # the class of scikit-learn's
    settings: Mapping[str, Any]  # its parameters
    scale: bool  # are features brought to mean 0 and deviation 1 first?
    bootstrap: int | None  # which sample of the public rows it is fitted on; None for all of them

    def rows(self, shared: SharedRandomness, fitted: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which of the public rows it is fitted on."""
        if self.bootstrap is None:
            return fitted
        words = shared.words("candidates", "bootstrap", self.bootstrap, count=len(fitted))
        return fitted[below(words, len(fitted))]

    def make(self, shared: SharedRandomness) -> Any:
        """The estimator, not fitted yet; its random numbers come from the string."""
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        kind = estimator_of(self.estimator)
        try:
            model = kind(**self.settings)
        except TypeError as error:
            raise BadRecipe(f"{self.name}: {self.estimator} cannot be made: {error}") from error
        if "random_state" in model.get_params(deep=False) and "random_state" not in self.settings:
            model.set_params(random_state=shared.word("candidates", "state", self.name) >> 33)
        return make_pipeline(StandardScaler(), model) if self.scale else model


def estimator_of(path: Any) -> Any:
    """A classifier of scikit-learn's by its dotted name; nothing else is ever imported."""
    from sklearn.base import BaseEstimator, is_classifier

    module, _, name = path.rpartition(".") if isinstance(path, str) else ("", "", "")
    parts = [*module.split("."), name]
    if parts[0] != "sklearn" or not all(part.isidentifier() and not part.startswith("_") for part in parts):
        raise BadRecipe(f"an estimator is named like sklearn.linear_model.LogisticRegression, got {path!r:.80}")
    try:
        found = getattr(import_module(module), name)
        right = isinstance(found, type) and issubclass(found, BaseEstimator) and is_classifier(found())
    except (ImportError, AttributeError, TypeError) as error:
        raise BadRecipe(f"scikit-learn has no classifier {path} that can be made without parameters") from error
    if not right:
        raise BadRecipe(f"{path} is no classifier of scikit-learn's")
    return found


@dataclass(frozen=True)
class Family:
    """A recipe that was read."""

    content: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> Family:
        """The recipe in a TOML file."""
        content = read_toml(path, what="the recipe", refuse=BadRecipe)
        try:
            return cls.of(content)
        except BadRecipe as error:
            raise BadRecipe(f"{path}: {error}") from error

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Family:
        """Check everything that a recipe says."""
        _check_keys(content, _TOP, "a recipe")
        for key in ("schema", "seed", "label", "labels", "features", "model"):
            if key not in content:
                raise BadRecipe(f"a recipe needs the key {key!r}")
        if content["schema"] != SCHEMA:
            raise BadRecipe(f"the schema is {content['schema']!r:.60}, this version reads {SCHEMA!r}")
        for key in ("seed", "label"):
            if not isinstance(content[key], str) or not content[key]:
                raise BadRecipe(f"{key} must be a text, got {content[key]!r:.60}")
        names = content["features"]
        if not isinstance(names, list) or not names or not all(isinstance(each, str) and each for each in names):
            raise BadRecipe(f"features must be a list of column names, got {names!r:.60}")
        if len({*names, content["label"]}) < len(names) + 1:
            raise BadRecipe("a column stands twice among features and label")
        family = cls(content)
        try:
            _ = family.labels, family.held_out
        except (ReplicalError, TypeError) as error:
            raise BadRecipe(str(error)) from error
        family._check_models()
        return family

    def _check_models(self) -> None:
        models = self.content["model"]
        if not isinstance(models, list) or not models or not all(isinstance(each, dict) for each in models):
            raise BadRecipe("models are written as [[model]], one or more")
        for each in models:
            _check_keys(each, _MODEL, "a model")
            if not _is_name(each.get("name")):
                raise BadRecipe(
                    f"a model has a name of one line without commas or quotes, got {each.get('name')!r:.60}"
                )
            bootstraps, grid = each.get("bootstraps", 0), each.get("grid", {})
            if isinstance(bootstraps, bool) or not isinstance(bootstraps, int) or bootstraps < 0:
                raise BadRecipe(f"{each['name']}: bootstraps is a whole number of at least 0, got {bootstraps!r:.60}")
            if not isinstance(each.get("scale", False), bool):
                raise BadRecipe(f"{each['name']}: scale is true or false, got {each['scale']!r:.60}")
            if not isinstance(grid, dict) or not all(isinstance(values, list) and values for values in grid.values()):
                raise BadRecipe(f"{each['name']}: grid has a list of values for each parameter, got {grid!r:.80}")
            estimator_of(each.get("estimator"))
        names = [each.name for each in self.candidates]
        if len(set(names)) < len(names):
            twice = next(name for name, often in Counter(names).items() if often > 1)
            raise BadRecipe(f"two candidates are called {twice!r}: give the models different names")

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """All of them, in their public order."""
        return tuple(self._candidates())

    def _candidates(self) -> Iterator[Candidate]:
        count = 0
        for model in self.content["model"]:
            grid, bootstraps = model.get("grid", {}), model.get("bootstraps", 0)
            for place, values in enumerate(product(*grid.values())):
                for bootstrap in range(bootstraps) if bootstraps else [None]:
                    if (count := count + 1) > _MOST:
                        raise BadRecipe(f"the recipe makes more than {_MOST:,} candidates: make the grids smaller")
                    more = ([str(place)] if grid else []) + ([f"b{bootstrap}"] if bootstraps else [])
                    yield Candidate(
                        name="-".join([model["name"], *more]),
                        estimator=model["estimator"],
                        settings=dict(zip(grid, values, strict=True)),
                        scale=model.get("scale", False),
                        bootstrap=bootstrap,
                    )

    @property
    def labels(self) -> tuple[Label, ...]:
        """The label set, in its public order."""
        return label_set(self.content["labels"])

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that models look at."""
        return tuple(self.content["features"])

    @property
    def label(self) -> str:
        """The column of labels."""
        return str(self.content["label"])

    @property
    def held_out(self) -> float:
        """Share of the public rows that make the order."""
        return check_between("held_out", self.content.get("held_out", 0.3), 0, 1)

    @property
    def shared(self) -> SharedRandomness:
        """The published string."""
        return SharedRandomness(self.content["seed"])

    @property
    def fingerprint(self) -> str:
        """A hash of what the recipe says, its title aside."""
        return fingerprint({key: value for key, value in self.content.items() if key != "title"})

    def split(self, rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Public rows to fit on, and those held out, by the string."""
        order = np.argsort(self.shared.words("candidates", "split", count=rows), kind="stable").astype(np.int64)
        held = round(self.held_out * rows)
        if not 0 < held < rows:
            raise BadRecipe(
                f"held_out = {self.held_out:g} of {rows} public rows leaves none to fit on, or none to judge by"
            )
        return np.sort(order[held:]), np.sort(order[:held])


def _check_keys(section: Mapping[str, Any], keys: tuple[str, ...], what: str) -> None:
    for key in section:
        if key not in keys:
            raise BadRecipe(f"{what} has no key {key!r}; it has {', '.join(keys)}")


def _is_name(value: Any) -> bool:
    """Can this stand in a table and in a list of lines as it is?"""
    return isinstance(value, str) and value.isprintable() and value == value.strip() != "" and not {*',"'} & {*value}
