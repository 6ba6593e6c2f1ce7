"""No file whatsoever gives a traceback where a protocol is expected."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from replical.errors import ReplicalError
from replical.lab.protocol import Protocol
from support.lab import content
from support.protocols import NASTY

# ---- round trip and fingerprint ----
texts = st.lists(
    st.one_of(st.sampled_from(NASTY), st.text(st.characters(exclude_categories=["Cs"]), max_size=4)), max_size=4
).map("".join)  # fmt: skip


# ---- whatever a file holds ----
@settings(max_examples=200)
@given(st.one_of(st.binary(max_size=80), texts.map(str.encode)))
@example(b"\xef\xbb\xbf")
@example(b'schema = "replical.protocol/1"\n')
def test_no_bytes_whatsoever_give_a_traceback(tmp_path_factory, raw):
    file = tmp_path_factory.getbasetemp() / "fuzz.toml"
    file.write_bytes(raw)
    with pytest.raises(ReplicalError):
        Protocol.read(file)


PLAIN = Protocol.of(content()).toml()


# ---- protocols ----


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "1" * 5000,
        "x = " + "[" * 5000,
        PLAIN.replace('kind = "table"', 'kind = ["table"]'),
        PLAIN.replace('kind = "table"', "kind = {}"),
        PLAIN + "\n[handicap]\nfrom = \"weights\"\nweights = [1" + "0" * 400 + ", 1, 1, 1, 1, 1]\n",
    ],
    ids=["digits", "nest", "kind list", "kind table", "huge weight"],
)  # fmt: skip
def test_no_protocol_gives_a_traceback(tmp_path, text):
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(ReplicalError):
        Protocol.read(tmp_path / "p.toml")


@pytest.mark.parametrize("part", ["a", '"a"', " a\t"])
def test_a_key_of_many_parts_takes_no_time(tmp_path, part):
    """Of 120 kB, the reader of Python's library makes minutes."""
    (tmp_path / "p.toml").write_text(".".join([part] * 60_000) + " = 1\n" + PLAIN)
    with pytest.raises(ReplicalError, match="a key has a hundred parts or more"):
        Protocol.read(tmp_path / "p.toml")
