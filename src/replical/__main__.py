"""``python -m replical``."""

from replical.cli import run

if __name__ == "__main__":
    run()
