"""What is shipped: metadata that agree, data whose origin is named, and checks of `make dist` that can fail."""

import io
import re
import tarfile
import tomllib
import zipfile

import pytest

import replical
from support.dist import LICENCES, Broken, check_metadata, check_names, expected
from support.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
TRACKED = {"src/replical/__init__.py", "src/replical/py.typed", "README.md", "tests/test_a.py", *LICENCES}
METADATA = """\
Metadata-Version: 2.4
Name: replical
Version: 1.2.3
License-Expression: Apache-2.0 AND CC-BY-4.0
License-File: LICENSE
License-File: LICENSES/CC-BY-4.0.txt
License-File: NOTICE

# replical, ε
"""


def test_the_version_is_one():
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert cited[1] == replical.__version__
    assert f"\n## {replical.__version__} (" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_conda_package_is_the_same_core():
    text = (ROOT / "conda" / "recipe.yaml").read_text("utf-8")
    assert re.search(r"^  version: (.+)$", text, re.MULTILINE)[1] == replical.__version__
    run = [
        f"python {PROJECT['requires-python']}",
        *(re.sub("(?=>)", " ", each.lower()) for each in PROJECT["dependencies"]),
    ]
    assert re.findall(r"^    - (\S+ >=\S+)$", text, re.MULTILINE) == run


def test_sums_are_of_the_wheels_that_are_pinned():
    """`tests/support/hashes.py` has to run again when a version of the core's packages changes."""
    pins, summed = ((ROOT / f"constraints{part}.txt").read_text("utf-8") for part in ("", "-hashed"))
    lines = [line.replace("'", '"').lower().replace("_", "-") for line in pins.splitlines()]
    packages = re.findall(r"^(\S.*?) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", summed, re.MULTILINE)
    assert [pin for pin, _ in packages if pin.replace("_", "-") not in lines] == []
    assert {re.split("[>=]", each)[0].lower() for each in PROJECT["dependencies"]} <= {
        pin.split("==")[0] for pin, _ in packages
    }
    assert "://" not in summed


def test_actions_are_pinned_by_commit():
    """A tag can be moved to other code; what publishes alone may ask the index for its trust."""
    for file in (ROOT / ".github/workflows").glob("*.yml"):
        for used in re.findall(r"uses: (.+)", file.read_text("utf-8")):
            assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used), (file.name, used)
    jobs = (ROOT / ".github/workflows/publish.yml").read_text("utf-8").split("\n  publish:\n")
    assert [part.count("id-token: write") for part in jobs] == [0, 1]


def test_authors_are_those_of_the_citation():
    cited = (ROOT / "CITATION.cff").read_text("utf-8").split("preferred-citation")[0]
    assert re.findall(r"^  - name: (.+)$", cited, re.MULTILINE) == [each["name"] for each in PROJECT["authors"]]


def test_data_of_others_are_named_with_their_licence():
    """Whatever is shipped and is neither code nor text of ours."""
    shipped = [
        path for path in (ROOT / "src/replical").rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    ours = {".py", ".typed", ".html", ".css", ".js"}
    data = [path for path in shipped if path.suffix not in ours and path.parent.name != "schemas"]
    assert len(data) >= 2
    notice = (ROOT / "NOTICE").read_text("utf-8")
    for path in data:
        assert f"\n{path.relative_to(ROOT / 'src').as_posix()}\n" in notice
    assert all((ROOT / name).is_file() for name in LICENCES)
    assert {"LICENSE", "NOTICE", "LICENSES/*.txt"} == set(PROJECT["license-files"])


def test_every_version_of_python_that_is_named_is_tested():
    """One more is tested, and named once its tests have passed."""
    tested = re.search(r"python: \[(.+)\]", (ROOT / ".github/workflows/test.yml").read_text("utf-8"))[1]
    named = [each.split(" :: ")[-1] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)]
    assert re.findall(r"[\d.]+", tested)[: len(named)] == named
    assert PROJECT["requires-python"] == f">={named[0]}"


def archive(folder, kind, names, metadata=METADATA):
    """A wheel or source archive with these files in it; all are empty but the metadata."""
    file = folder / ("replical-1.2.3-py3-none-any.whl" if kind == "wheel" else "replical-1.2.3.tar.gz")
    told = {"replical-1.2.3.dist-info/METADATA": metadata, "PKG-INFO": metadata}
    if kind == "wheel":
        with zipfile.ZipFile(file, "w") as out:
            for name in names:
                out.writestr(name, told.get(name, ""))
    else:
        with tarfile.open(file, "w:gz") as out:
            for name in names:
                data = told.get(name, "").encode()
                about = tarfile.TarInfo(f"replical-1.2.3/{name}")
                about.size = len(data)
                out.addfile(about, io.BytesIO(data))
    return file


def whole(folder, kind):
    """The names that such a file must hold."""
    return expected(archive(folder, kind, []), TRACKED)


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_a_file_that_is_whole_passes(kind, tmp_path):
    names = whole(tmp_path, kind)
    assert ("tests/test_a.py" in names) == (kind == "sdist")
    file = archive(tmp_path, kind, names)
    check_names(file, TRACKED)
    check_metadata(file, "1.2.3", "# replical, ε\n")


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_every_file_that_is_missing_is_named_and_so_is_one_too_many(kind, tmp_path):
    names = whole(tmp_path, kind)
    for name in sorted(names):
        with pytest.raises(Broken, match=f"lacks {re.escape(name)} "):
            check_names(archive(tmp_path, kind, names - {name}), TRACKED)
    with pytest.raises(Broken, match="should not hold tests/junk.db "):
        check_names(archive(tmp_path, kind, names | {"tests/junk.db"}), TRACKED)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("Version: 1.2.3", "Version: 1.2.2", "says Version: 1.2.2, not 1.2.3"),
        (" AND CC-BY-4.0", "", "says License-Expression: Apache-2.0, not"),
        ("License-File: NOTICE\n", "", "names other licence files"),
        ("# replical, ε", "# replical", "is not README.md"),
    ],
)
def test_metadata_that_differ_are_named(old, new, told, tmp_path):
    file = archive(tmp_path, "wheel", whole(tmp_path, "wheel"), METADATA.replace(old, new))
    with pytest.raises(Broken, match=told):
        check_metadata(file, "1.2.3", "# replical, ε\n")
