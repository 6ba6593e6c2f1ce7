"""``replical demo`` says what it promises."""

from support.commands import replical


def test_demo():
    done = replical("demo")
    assert done.returncode == 0
    shown = " ".join(done.stdout.split())
    assert "replical demo / pair 0" in shown
    assert all(word in shown for word in ("Rounded A2", "A2, at its", "best on", "240 classifiers", "identical"))
