"""The page about file formats says what the readers of these files know: every key, and examples that are read."""

import re
import tomllib

import pytest

from replical.classes.catalogue import KINDS
from replical.lab.certificate.schema import Body
from replical.lab.protocol import Protocol
from replical.lab.schema import LEARNER, TOP
from support.paths import ROOT

PAGE = (ROOT / "docs" / "reference" / "formats.md").read_text("utf-8")


def table(mark):
    """The cells of each row of the table behind a mark, without its head."""
    rows = re.search(rf"<!-- {mark} -->\n((?:\|.*\n)+)", PAGE).group(1).splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def names(cell):
    return set(re.findall(r"`(\w+)`", cell))


@pytest.mark.parametrize(
    ("mark", "known"),
    [("top", TOP), ("learner", LEARNER[2:]), ("body", Body.__struct_fields__)],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_every_key_is_explained_and_no_other(mark, known):
    assert set.union(*(names(row[0]) for row in table(mark))) - {"body"} == set(known)


def test_classes_have_the_keys_of_their_records():
    assert {row[0].strip("`"): (names(row[1]), names(row[2])) for row in table("classes")} == {
        kind: (set(record.needs), set(record.options)) for kind, record in KINDS.items()
    }


@pytest.mark.parametrize("text", re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL))
def test_the_examples_are_protocols(text):
    Protocol.of(tomllib.loads(text))
