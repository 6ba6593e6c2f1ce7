"""The false alarms of all statistical tests, added up and shown."""

import hypothesis
import pytest

# Any machine, any load: laws are about values, never about time.
hypothesis.settings.register_profile("default", deadline=None, print_blob=True)
hypothesis.settings.load_profile("default")

ALARM = 1e-6  # probability that a correct library fails one statistical test


@pytest.fixture
def alarm(request):
    """Use up one false-alarm probability and account for it."""
    request.node.user_properties.append(("alarm", ALARM))
    return ALARM


def pytest_terminal_summary(terminalreporter):
    lines, spent = [], 0.0
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                found = dict(report.user_properties)
                spent += found.get("alarm", 0.0)
                if "power" in found:
                    lines.append(f"  {report.nodeid.split('::')[-1]}: {found['power']}")
    if spent:
        terminalreporter.write_sep("-", "statistical tests")
        for line in sorted(lines):
            terminalreporter.write_line(line)
        terminalreporter.write_line(f"  probability of a false alarm among them, at most: {spent:.0e}")
