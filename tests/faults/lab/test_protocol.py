"""No file whatsoever gives a traceback where a protocol is expected."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from replical.cli import main
from replical.errors import ReplicalError
from replical.lab.protocol import Protocol
from support.lab import content
from support.protocols import NASTY

# ---- round trip and fingerprint ----
texts = st.lists(
    st.one_of(st.sampled_from(NASTY), st.text(st.characters(exclude_categories=["Cs"]), max_size=4)), max_size=4
).map("".join)  # fmt: skip

# ---- whatever a file holds ----
VALID = Protocol.of(content(title="fuzz", batch=2, handicap={"from": "weights", "weights": [1, 2, 3, 4, 5, 6]})).toml()
LITERALS = ["[]", "{}", "[[]]", "[1, [2]]", "true", "nan", "-inf", "-1", "0", "1e400", "2020-01-01", '"\\u0000"', '"é"',
            "0.5", '""']  # fmt: skip


def read_or_refused(file):
    """Is it a protocol? Anything but an error of ours is a failure of the test."""
    try:
        Protocol.read(file)
    except ReplicalError as error:
        assert str(error)
        return False
    return True


def run_with(file):
    """A run whose pool does not exist: whatever the protocol says, the exit code is 2 and there is one sentence."""
    nowhere = str(file.parent / "nowhere.csv")
    return main(["run", str(file), "--pool", nowhere, "--journal", str(file.parent / "j.db"), "--out", str(file) + ".json",
                 "--labels", f"{nowhere}:y"])  # fmt: skip


@settings(max_examples=200)
@given(st.one_of(st.binary(max_size=80), texts.map(str.encode)))
@example(b"\xef\xbb\xbf")
@example(b'schema = "replical.protocol/1"\n')
def test_no_bytes_whatsoever_give_a_traceback(tmp_path_factory, raw):
    file = tmp_path_factory.getbasetemp() / "fuzz.toml"
    file.write_bytes(raw)
    assert not read_or_refused(file)


@st.composite
def mutated(draw):
    """Cut, repeat and replace pieces of a valid file, and put any value behind any key."""
    text = VALID
    for _ in range(draw(st.integers(1, 3))):
        how = draw(st.sampled_from(["cut", "insert", "literal", "line"]))
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        lines = text.splitlines(keepends=True)
        keyed = [n for n, line in enumerate(lines) if " = " in line and not line.startswith(("kind", " "))]
        if how == "cut":
            text = text[:start] + text[end:]
        elif how == "insert":
            text = text[:start] + draw(texts) + text[start:]
        elif how == "line" and lines:
            line = draw(st.integers(0, len(lines) - 1))
            text = "".join(lines[:line] + lines[line + 1 :] + ([lines[line]] if draw(st.booleans()) else []))
        elif how == "literal" and keyed:
            line = draw(st.sampled_from(keyed))
            lines[line] = f"{lines[line].partition(' = ')[0]} = {draw(st.sampled_from(LITERALS))}\n"
            text = "".join(lines)
    return text


@settings(max_examples=300)
@given(mutated())
@example(VALID)
def test_no_mutated_protocol_gives_a_traceback(tmp_path_factory, text):
    file = tmp_path_factory.getbasetemp() / "mutated.toml"
    file.write_text(text, encoding="utf-8")
    assert read_or_refused(file) or text != VALID


@settings(max_examples=10)
@given(mutated())
@example(VALID)
@example("")
def test_no_mutated_protocol_gives_a_traceback_at_the_command_line(tmp_path_factory, text):
    file = tmp_path_factory.getbasetemp() / "mutated-run.toml"
    file.write_text(text, encoding="utf-8")
    assert run_with(file) == 2


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
