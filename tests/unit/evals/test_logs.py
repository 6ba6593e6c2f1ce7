"""Logs of evaluations: small ones by hand, in the published field names, and everything that can be wrong with them.

The harness writes numbers within lists of responses as text, and what is right as text.
"""

import json
import tracemalloc

import pytest

from replical.errors import BadTable
from replical.evals.logs import join, normal


def lines(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def choice(number, target, *chances, **more):
    """A line of a multiple-choice task of lm-evaluation-harness."""
    best = max(range(len(chances)), key=chances.__getitem__)
    return {
        "doc_id": number, "doc": {"question": f"q{number}"}, "target": str(target),
        "arguments": {f"gen_args_{place}": {"arg_0": "Q: ..", "arg_1": f" {'abcd'[place]}"} for place in range(len(chances))},
        "resps": [[[str(chance), "False"]] for chance in chances],
        "filtered_resps": [[str(chance), "False"] for chance in chances],
        "filter": "none", "metrics": ["acc", "acc_norm"], "doc_hash": f"hash{number}", "acc": float(str(best) == str(target)),
        "acc_norm": 0.0,
    } | more  # fmt: skip


def answer(number, target, text, score):
    """A line of a task of lm-evaluation-harness that generates."""
    return {
        "doc_id": number, "target": target, "resps": [[text]], "filtered_resps": [text], "filter": "strict-match",
        "metrics": ["exact_match"], "exact_match": score, "doc_hash": f"hash{number}",
    }  # fmt: skip


def instance(model, sample, output, score, *, name="gsm8k", reference=("4",), said=None):
    """A line of Every Eval Ever."""
    attribution = [] if said is None else [{"turn_idx": 0, "source": "output.raw", "extracted_value": said}]
    for each in attribution:
        each |= {"extraction_method": "regex", "is_terminal": True}
    return {
        "schema_version": "0.2.1", "evaluation_id": "e", "model_id": model, "evaluation_name": name, "sample_id": sample,
        "sample_hash": f"hash of {sample}", "interaction_type": "single_turn",
        "input": {"raw": "2+2", "reference": list(reference)}, "output": {"raw": [output]}, "answer_attribution": attribution,
        "evaluation": {"score": score, "is_correct": score == 1},
    }  # fmt: skip


def test_multiple_choice_of_the_harness(tmp_path):
    one = lines(
        tmp_path / "org__one" / "samples_mmlu_2026-01-01T00-00-00.jsonl",
        choice(0, "2", -3, -1, -0.5), choice(1, 0, -1, -2, -3),
    )  # fmt: skip
    two = lines(
        tmp_path / "two" / "samples_mmlu_2026-02-02T00-00-00.jsonl", choice(1, 0, -9, -2, -3), choice(0, "c", 0, -1, -2)
    )
    joined = join([(None, one), (None, two)])
    assert joined.columns() == {"id": ["0", "1"], "org/one": ["2", "0"], "two": ["0", "1"], "label": ["2", "0"]}
    scores = join([(None, one), (None, two)], what="scores").columns()
    assert scores == {"id": ["0", "1"], "org/one": [1.0, 1.0], "two": [0.0, 0.0]}
    assert join([("x", one)], what="scores", metric="acc_norm").columns() == {"id": ["0", "1"], "x": [0.0, 0.0]}


def test_tasks_of_a_pattern_are_one_table(tmp_path):
    """The harness writes a file for each subject of a benchmark, and numbers the items of each from 0."""
    logs = [
        (None, lines(tmp_path / "m" / f"samples_mmlu_{task}.jsonl", choice(0, 1, -2, -1))) for task in ("law", "art")
    ]
    logs.append((None, lines(tmp_path / "m" / "samples_gsm8k.jsonl", answer(0, "4", "4", 1))))
    found = join(logs, task="mmlu_*").columns()
    assert found == {"id": ["mmlu_law/0", "mmlu_art/0"], "m": ["1", "1"], "label": ["1", "1"]}
    assert join(logs, task="mmlu_law").columns()["id"] == ["0"]


def test_answers_of_the_harness_in_a_public_form(tmp_path):
    log = lines(
        tmp_path / "m" / "samples_gsm8k.jsonl", answer(0, "1,250", "So it is $1,250.", 1), answer(1, "4", "four", 0)
    )
    joined = join([(None, log)], form="number")
    assert joined.columns() == {"id": ["0", "1"], "m": ["1250", "four"], "label": ["1250", "4"]}
    assert normal("  The\u00a0Answer\u2026 ", "text") == "the answer"
    assert normal("-3.50 then 1,000", "number") == "1000"


def test_instances_of_every_eval_ever(tmp_path):
    log = lines(
        tmp_path / "all.jsonl",
        instance("a/one", "s1", "it is 4", 1, said="4"), instance("b/two", "s1", "5", 0), instance("a/one", "s2", "x", 0.5),
        instance("b/two", "s2", "y", 1, reference=("y", "z")),
    )  # fmt: skip
    joined = join([(None, log)])
    assert joined.columns() == {"id": ["s1", "s2"], "a/one": ["4", "x"], "b/two": ["5", "y"], "label": ["4", "4"]}
    assert join([(None, log)], what="scores").columns()["a/one"] == [1.0, 0.5]


def test_plain_lines_in_jsonl_and_csv(tmp_path):
    log = lines(
        tmp_path / "a.jsonl",
        {"item": 1, "model": "m", "output": 7, "gold": "7"},
        {"item": 2, "model": "m", "output": [1, 2]},
    )
    sheet = tmp_path / "b.csv"
    sheet.write_text('item,model,output,score,gold\n1,n,"7, or 8",.5,7\n2,n,x,1,\n', encoding="utf-8")
    joined = join([(None, log), (None, sheet)])
    assert joined.columns() == {"id": ["1", "2"], "m": ["7", "[1,2]"], "n": ["7, or 8", "x"], "label": ["7", None]}
    with pytest.raises(BadTable, match="m has no score for 2 of 2 items"):
        join([(None, log), (None, sheet)], what="scores").columns()
    unnamed = lines(tmp_path / "c.jsonl", {"item": 1, "score": 1})
    assert join([("mine", unnamed)], what="scores").columns() == {"id": ["1"], "mine": [1.0]}


def test_items_that_some_model_lacks_are_named_or_left_out(tmp_path):
    """With the place where the first of them came."""
    one = lines(tmp_path / "one.jsonl", *({"item": item, "model": "m", "output": "x"} for item in "abc"))
    two = lines(tmp_path / "two.jsonl", *({"item": item, "model": "m", "output": "x"} for item in "ade"))
    three = lines(tmp_path / "three.jsonl", *({"item": item, "model": "n", "output": "y"} for item in "abcf"))
    joined = join([(None, one), (None, two), (None, three)])
    with pytest.raises(
        BadTable, match=r"^m has no output for 1 of 6 items \(f; the first is in .*three\.jsonl, line 4\): "
    ):
        joined.columns()
    joined = join(
        [(None, one), (None, two), (None, lines(tmp_path / "n.jsonl", {"item": "a", "model": "n", "output": "y"}))]
    )
    with pytest.raises(
        BadTable,
        match=r"^n has no output for 4 of 5 items \(b, c, d, \.\.; the first is in .*one\.jsonl, line 2\): .*--common",
    ):
        joined.columns()
    assert joined.columns(common=True) == {"id": ["a"], "m": ["x"], "n": ["y"]}
    joined.cells["n"][0] = None
    with pytest.raises(BadTable, match="no item was answered by all models"):
        joined.columns(common=True)


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        ([{"item": 1, "model": "m", "output": "x"}, {"item": 1, "model": "m", "output": "y"}], {}, "line 2: m has two outputs"),
        ([{"item": 1, "model": "m", "score": 0}, {"item": 1, "model": "m", "score": 1}], {"what": "scores"}, "line 2: m has two scores"),
        ([{"item": 1, "model": "m", "score": "good"}], {}, "line 1: the score 'good' is no number"),
        ([{"item": 1, "model": "m", "score": "nan"}], {}, "line 1: the score nan is no finite number"),
        ([{"item": 1, "model": "m"}], {}, "line 1: neither an output nor a score"),
        ([{"item": 1, "model": "m", "output": "x", "gold": "a"}, {"item": 1, "model": "n", "output": "x", "gold": "b"}], {},
         "line 2: the item '1' has two right answers"),
        ([{"item": 1, "model": "m", "output": "x", "task": "t"}, {"item": 1, "model": "n", "output": "x", "task": "u"}], {},
         "line 2: the logs are of two tasks, 't' and 'u'"),
        ([{"item": [], "model": "m", "output": "x"}], {}, "line 1 cannot be read"),
        ([{"id": 1}], {}, "line 1: this is no log that is known"),
        ([instance("m", "s", "x", 1), instance("m", "s2", "x", 1, name="mmlu")], {}, "of two tasks, 'gsm8k' and 'mmlu'"),
        ([instance("m", "s", "x", 1), instance("n", "s", "x", 1) | {"sample_hash": "other"}], {}, "is another one than"),
        ([instance("m", "s", "x", 1)], {"task": "mmlu"}, "no items of the task 'mmlu'"),
        ([choice(0, "z", -1, -2)], {}, "the right answer 'z' is none of its 2 choices"),
        ([choice(0, "1", -1, -2)], {"metric": "f1"}, "no score 'f1'; this line has acc, acc_norm"),
        ([], {}, "the logs hold no items"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_file_and_line(tmp_path, rows, options, words):
    log = lines(tmp_path / "m" / "log.jsonl", *rows)
    with pytest.raises(BadTable, match=words) as caught:
        join([(None, log)], **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ['{"item": 1, "model": "m", "output": "x"}\n{"item": 2, "mod', "\x00\n", "[1]\n"])
def test_broken_lines(tmp_path, text):
    log = tmp_path / "log.jsonl"
    log.write_text(text)
    with pytest.raises(BadTable, match=r"log\.jsonl"):
        join([(None, log)])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("item,output\n1,x\n", "has no columns item and model"),
        ("item,model,output\n1,m\n", "line 2 has another number of cells"),
        ("item,model,score\n1,m,high\n", "line 2: the score 'high' is no number"),
        ("item,model,output\n1,m,\xff\n", "cannot be read"),
    ],
)
def test_broken_sheets(tmp_path, text, words):
    sheet = tmp_path / "log.csv"
    sheet.write_bytes(text.encode("latin-1"))
    with pytest.raises(BadTable, match=words):
        join([(None, sheet)])


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(BadTable, match="cannot be read: No such file"):
        join([(None, tmp_path / "none.jsonl")])


def test_progress_is_in_bytes(tmp_path):
    log, told = lines(tmp_path / "a.jsonl", {"item": 1, "model": "m", "output": 7}), []
    join([(None, log), (None, log)], progress=lambda done, total: told.append((done, total)))
    size = log.stat().st_size
    assert told == [(size, 2 * size), (2 * size, 2 * size)]


def test_choices_are_letters_however_they_are_told(tmp_path):
    """HELM's right answer is the text of a choice, and what models say a letter; the harness's right answer is a number."""
    rows = [
        instance("a", "s1", " B", 1, said="B", reference=["Rome"]), instance("b", "s1", "Rome", 1, reference=["Rome"]),
        instance("c", "s1", " (A) ", 0, reference=["1"]), instance("d", "s1", "I do not know", 0, reference=["Rome"]),
    ]  # fmt: skip
    for row in rows:
        row["input"]["choices"] = ["Oslo", "Rome", "A"]
    joined = join([(None, lines(tmp_path / "all.jsonl", *rows))])
    assert joined.columns() == {
        "id": ["s1"],
        "a": ["B"],
        "b": ["B"],
        "c": ["A"],
        "d": ["I do not know"],
        "label": ["B"],
    }
    assert joined.against == 0


def test_where_scores_say_otherwise_it_is_counted(tmp_path):
    """As where a log holds a likelihood in place of an answer, or an answer between words."""
    log = lines(
        tmp_path / "all.jsonl",
        instance("a", "s1", "-3.2", 1), instance("a", "s2", "so it is 4", 1), instance("a", "s3", "4", 0.5),
        instance("a", "s4", "4", 0),
    )  # fmt: skip
    joined = join([(None, log)])
    assert (joined.against, joined.first) == (3, f"{log}, line 1")
    assert join([(None, log)], form="number").against == 2
    assert join([(None, log)], what="scores").against == 0


def test_prompts_may_differ_where_the_question_is_one(tmp_path):
    """The hash of an instance is that of the prompt, which has each model's template; converters keep that of the item."""
    one, two = instance("a", "s1", "4", 1), instance("b", "s1", "4", 1) | {"sample_hash": "another template"}
    with pytest.raises(BadTable, match="line 2: the item 's1' is another one"):
        join([(None, lines(tmp_path / "a.jsonl", one, two))])
    same = {"metadata": {"doc_hash": "h"}}
    assert list(join([(None, lines(tmp_path / "b.jsonl", one | same, two | same))]).cells) == ["a", "b"]


def test_a_sheet_that_cannot_be_read_says_where(tmp_path):
    sheet = tmp_path / "log.csv"
    sheet.write_bytes(b"item,model,output\n1,m,x\n" + b"2,m," + b"y" * 200_000 + b"\n")
    with pytest.raises(BadTable, match=r"log\.csv cannot be read after line 2: field larger"):
        join([(None, sheet)])


def test_a_long_log_is_streamed_and_told_of(tmp_path):
    """The memory is that of the items, however long lines are."""
    log, told = tmp_path / "a.jsonl", []
    log.write_text(
        "".join(
            f'{{"item": {number}, "model": "m", "score": 1, "output": "{"x" * 400}"}}\n' for number in range(20_000)
        )
    )
    size = log.stat().st_size
    tracemalloc.start()
    join([(None, log)], what="scores", progress=lambda done, total: told.append((done, total)))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < size / 2
    assert size // 2**20 <= len(told) <= size // 2**20 + 1
    assert told[-1] == (size, size)
