"""A certificate as one readable page: no outside links, nothing a certificate does not already say."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from replical.classes.grading import Gold, answering
from replical.classes.losses import Losses
from replical.core import text
from replical.core.text import count
from replical.lab.certificate.checks import claim_of, protocol_of
from replical.learners.proof import family_of

_HEAD = "<thead><tr><th>condition</th><th class=n>found</th><th class=n>bound</th><th>held?</th></tr></thead>"


def page(certificate: Mapping[str, Any]) -> str:
    """The page of a certificate."""
    body = certificate["body"]
    protocol = body["protocol"]
    claim = claim_of(body, protocol_of(body))
    family = family_of(claim.protocol.record)
    chosen = body["hypothesis"]
    answer = "No heavy hitter: no answer" if chosen is None else chosen["description"]
    learner = protocol["learner"]
    facts = {
        **({"lab": body["lab"]} if "lab" in body else {}),
        "learner": f"{learner['name']}, ε = {learner['epsilon']:g}, δ = {learner['delta']:g}, ρ = {learner['rho']:g}",
        "labels asked": f"{_labels_asked(body)} ({body['labels']['skipped']} skipped, "
        f"{body['labels']['corrected']} corrected)",
        "pool": count(body["pool"]["items"], "item"),
        **family.facts(claim),
        **({"beacon": body["beacon"]} if "beacon" in body else {}),
        "written": f"{certificate['provenance']['created']}, replical {certificate['provenance']['replical']}",
    }
    prints = {
        "protocol": body["protocol_fingerprint"],
        "class": body["class_fingerprint"],
        "pool": body["pool"]["fingerprint"],
        **({"registration": body["registration"]} if "registration" in body else {}),
        "this certificate": certificate["digest"],
        **({"signed with the key": certificate["signature"]["key"]} if "signature" in certificate else {}),
    }
    labels = answering(protocol["labels"])
    labels = labels if isinstance(labels, tuple) else labels.choices or ("any answer",)
    style = text.stylesheet(text.COMMON, text.READING) + _asset("css")
    sections = {
        "The run": _table(facts),
        "What the promise needs": _conditions(body),
        "Fingerprints": _table(prints, code=True),
        "Protocol": _table({"shared string": protocol["seed"], "labels": ", ".join(map(str, labels))}, code=True)
        + _costs(protocol["labels"])
        + "<p>All of this is claimed until it is checked: <code>replical verify</code>, alone, with the pool, or with pool "
        "and journal, which alone shows what the labels prove.</p>",
    }
    return Template(_asset("html")).substitute(
        hash=text.policy_hash(style),
        style=style,
        title=family.title,
        heading=family.heading(claim),
        open="" if body["certified"] else " open",
        answer=escape(str(answer)),
        verdict=escape(family.verdict(claim)),
        sections="\n".join(f"<section><h2>{name}</h2>{content}</section>" for name, content in sections.items()),
    )


def _asset(kind: str) -> str:
    return files("replical.lab.certificate").joinpath(f"assets/certificate.{kind}").read_text(encoding="utf-8")


def _conditions(body: Mapping[str, Any]) -> str:
    rows = "".join(
        f'<tr><td>{escape(each["name"])}</td><td class="n found">{each["value"]:g}</td>'
        f'<td class="n bound">{each["bound"]:g}</td>'
        f"<td>{'held' if each['held'] else '<span class=bad>not held</span>'}</td></tr>"
        for each in body["conditions"]
    )
    return f'<div class="scroll"><table class="conditions">{_HEAD}<tbody>{rows}</tbody></table></div>'


def _costs(labels: Mapping[str, Any]) -> str:
    """What predictions cost, where errors are not all alike."""
    answers, rest = answering(labels), {key: value for key, value in labels.items() if key != "values"}
    losses = answers if isinstance(answers, Gold) else Losses.of(answers, **rest)
    return "" if losses is None else f"<p>{escape(losses.words(labels.get('values', ())))}</p>"


def _labels_asked(body: Mapping[str, Any]) -> str:
    labels, error = body["labels"], body.get("answer_error")
    measured = 0 if error is None else error["labels"]
    asked = str(labels["asked"] - measured)
    asked = f"{labels['judgements'] - measured} judgements of {asked} items" if "judgements" in labels else asked
    return f"{asked} for the choice, {measured} for its error" if measured else asked


def _table(rows: Mapping[str, str], *, code: bool = False) -> str:
    cells = (
        f"<tr><th>{escape(name)}</th><td>{f'<code>{escape(value)}</code>' if code else escape(value)}</td></tr>"
        for name, value in rows.items()
    )
    return f'<div class="scroll"><table class="facts"><tbody>{"".join(cells)}</tbody></table></div>'
