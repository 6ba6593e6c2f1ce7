"""Every claim names the tests that check it, and they name the claim: a promise without a test or a mutant shows."""

import re

import pytest

from support.claims import FOLDERS, NONE, PAGES, Entry, all_tests, checked_by
from support.paths import ROOT

TESTS = all_tests()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_tests_that_exist_and_name_it_back(page):
    entries, _ = checked_by(page)
    assert len(set(entries)) == len(entries)
    for entry in entries:
        assert entry.test in TESTS, f"{page}.md names tests/{entry.test}, which is not there"
        assert page in TESTS[entry.test].pages, f'tests/{entry.test} lacks @pytest.mark.claim("{page}")'
        if entry.kind == "mutant":
            assert TESTS[entry.test].mutant, f"tests/{entry.test} lacks @pytest.mark.mutant"
        else:
            assert entry.test.startswith(f"{FOLDERS[entry.kind]}/"), (
                f"{page}.md calls tests/{entry.test} a {entry.kind}"
            )


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_a_test_and_a_mutant(page):
    """Exact formulas may do without a mutant, and say why; promises about chance may not."""
    entries, reasons = checked_by(page)
    kinds = {entry.kind for entry in entries}
    assert kinds - {"mutant"}, f"nothing checks {page}.md"
    assert ("mutant" in kinds) != bool(reasons), f"{page}.md needs a mutant, or one reason for having none"
    assert len(reasons) <= 1
    assert not (reasons and "guarantee" in kinds), f"{page}.md promises something by chance and has no mutant"


@pytest.mark.parametrize("name", sorted(name for name, marked in TESTS.items() if marked.pages))
def test_a_test_that_names_a_page_is_named_there(name):
    for page in TESTS[name].pages:
        assert page in PAGES, f"tests/{name} names docs/claims/{page}.md, which is not there"
        assert name in {entry.test for entry in checked_by(page)[0]}, (
            f"docs/claims/{page}.md does not name tests/{name}"
        )


def test_every_guarantee_names_a_page():
    nameless = [name for name, marked in TESTS.items() if name.startswith("guarantees/") and not marked.pages]
    assert nameless == []


def test_mutants_belong_to_claims():
    assert [name for name, marked in TESTS.items() if marked.mutant and not marked.pages] == []


def test_the_table_of_claims_is_complete():
    table = (ROOT / "docs" / "claims" / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| \[(\w+)\]\(\1\.md\)", table, re.MULTILINE)) == PAGES


def test_files_named_in_the_prose_exist():
    for page in PAGES:
        text = (ROOT / "docs" / "claims" / f"{page}.md").read_text(encoding="utf-8")
        for path in re.findall(r"`(tests/[\w/]+(?:\.py)?)", text):
            assert (ROOT / path).exists(), f"{page}.md: {path}"


def test_the_form_is_strict():
    assert NONE.fullmatch("- mutant: none, because the statement is exact.")
    assert not NONE.fullmatch("- mutant: none")
    assert Entry("law", "a") != Entry("unit", "a")
