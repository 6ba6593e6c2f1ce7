"""Where the repository is, wherever a test stands."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
