"""Finished runs and their certificates: honest ones, and ones whose digest was made again after a change."""

import html.parser

from replical.core.canonical import fingerprint
from replical.errors import BadCertificate
from replical.lab.certificate.file import read, seal
from replical.lab.certificate.verify import verify


def verdicts(run, certificate):
    return [verify(certificate), verify(certificate, run.lab), verify(certificate, run.lab, run.journal)]


def resealed(certificate):
    """What a forger does who knows how certificates are made."""
    certificate["digest"] = fingerprint(certificate["body"])
    certificate["provenance"]["seal"] = seal(certificate["digest"], certificate["provenance"])
    return certificate


def valid(path):
    """As `replical verify` decides."""
    try:
        return verify(read(path)).valid
    except BadCertificate:
        return False


def places(value, place=()):
    """Every place in nested mappings and lists, the whole first."""
    yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*place, key))


def at(value, place):
    """What stands there."""
    for step in place:
        value = value[step]
    return value


class Tags(html.parser.HTMLParser):
    """What is in a page: tags, attributes and texts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts = set(), set(), ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.texts += data
