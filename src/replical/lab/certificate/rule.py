"""The answer of a certificate as something to use: what the rule says about items that nobody has looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from replical.classes.base import Indices, Label, values
from replical.classes.recipe import Recipe
from replical.errors import BadCertificate, BadUsage
from replical.lab.certificate.checks import index_of, record_of
from replical.lab.certificate.file import read
from replical.lab.certificate.verify import verify
from replical.lab.protocol import Protocol
from replical.lab.tables import read_pool
from replical.learners.proof import family_of


@dataclass(frozen=True, kw_only=True, eq=False)
class Rule:
    """A rule on features that a certificate names.

    Attributes
    ----------
    recipe
        The class, and the columns it looks at.
    hypothesis
        The rule's number in the class.
    certified
        Is it proven that other labs return it too?

    Examples
    --------
    >>> from replical.classes.catalogue import recipe
    >>> doses = recipe({"kind": "thresholds", "features": ["dose"], "cuts": [[1.0, 2.0]]}, ("no", "yes"), "published")
    >>> rule = Rule(recipe=doses, hypothesis=1, certified=True)
    >>> rule.words, rule.predict({"id": ["a", "b"], "dose": [1.5, 2.5]})
    ('yes if dose >= 2.0 else no', {'a': 'no', 'b': 'yes'})
    """

    recipe: Recipe
    hypothesis: int
    certified: bool

    @property
    def words(self) -> str:
        """The rule in the units of its columns."""
        return self.recipe.describe(self.hypothesis)

    def predict(self, source: Any, *, id_column: str = "id") -> dict[str, Label]:
        """What the rule says about each item of a table.

        Parameters
        ----------
        source
            A path, a data frame or a mapping of names to arrays, with the rule's columns.
        id_column
            The column with the ids of the items.

        Returns
        -------
        labels
            Label values by id.

        Raises
        ------
        BadTable
            If the table cannot be read, lacks a column or a value.
        """
        pool = read_pool(source, replace(self.recipe, group=None), id_column=id_column)
        C = self.recipe.C
        said = values(C.codes(pool.items, cast(Indices, [self.hypothesis]))[0], C.labels)
        return dict(zip(pool.ids, said.tolist(), strict=True))


def read_rule(path: Path | str) -> Rule:
    """The rule that a certificate names, after the file has been checked by itself.

    Parameters
    ----------
    path
        The certificate that `replical run` wrote.

    Returns
    -------
    rule
        Ready to `predict`.

    Raises
    ------
    BadCertificate
        If the file is no certificate, or a wrong one, or names no answer of its own.
    BadUsage
        If the answer is a model, which speaks for itself.
    """
    certificate = read(Path(path))
    verify(certificate).refuse_unless_valid(str(path), "its rule is not used")
    if family_of(record_of(certificate["body"])).confirms:
        raise BadCertificate(f"{path} is a confirmation: give the certificate that it is about")
    body = certificate["body"]
    recipe, h = Protocol.of(body["protocol"]).recipe, index_of(body)
    if h is None:
        raise BadCertificate(f"{path} names no answer: no heavy hitter was found")
    if recipe.predicts:
        raise BadUsage(f"{path} names the model {recipe.describe(h)!r}, not a rule on features: ask the model itself")
    return Rule(recipe=recipe, hypothesis=h, certified=body["certified"])
