"""A certificate as one readable page: no outside links, nothing a certificate does not already say."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from replical.classes.losses import Losses
from replical.core import text
from replical.core.exact import round_up_to
from replical.core.text import about, at_least, at_most, count, two_of

_PAGE = Template(
    """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '$hash'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Certificate of a replicable run</title>
<style>$style</style>
</head>
<body>
<header>
<p class="kind">$certified</p>
<h1>Certificate of a replicable run</h1>
</header>
<main>
<p class="summary$open">$answer</p>
<p>$verdict</p>
$sections
</main>
</body>
</html>
"""
)
_HEAD = "<thead><tr><th>condition</th><th class=n>found</th><th class=n>bound</th><th>held?</th></tr></thead>"


def page(certificate: Mapping[str, Any]) -> str:
    """The page of a certificate."""
    body = certificate["body"]
    protocol = body["protocol"]
    chosen = body["hypothesis"]
    answer = "No heavy hitter: no answer" if chosen is None else chosen["description"]
    learner = protocol["learner"]
    facts = {
        **({"lab": body["lab"]} if "lab" in body else {}),
        "learner": f"{learner['name']}, ε = {learner['epsilon']:g}, δ = {learner['delta']:g}, ρ = {learner['rho']:g}",
        "labels asked": f"{_labels_asked(body)} ({body['labels']['skipped']} skipped, "
        f"{body['labels']['corrected']} corrected)",
        "pool": count(body["pool"]["items"], "item"),
        **_facts(body),
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
    labels = map(str, protocol["labels"]["values"])
    style = text.stylesheet(text.COMMON, text.READING) + _own_style()
    sections = {
        "The run": _table(facts),
        "What the promise needs": _conditions(body),
        "Fingerprints": _table(prints, code=True),
        "Protocol": _table({"shared string": protocol["seed"], "labels": ", ".join(labels)}, code=True)
        + _costs(protocol["labels"])
        + "<p>Check it with <code>replical verify</code>: alone, with the pool, or with pool and journal.</p>",
    }
    return _PAGE.substitute(
        hash=text.policy_hash(style),
        style=style,
        certified="Certified" if body["certified"] else "Not certified",
        open="" if body["certified"] else " open",
        answer=escape(str(answer)),
        verdict=escape(_verdict(body)),
        sections="\n".join(f"<section><h2>{name}</h2>{content}</section>" for name, content in sections.items()),
    )


def _own_style() -> str:
    return files("replical.lab.certificate").joinpath("assets/certificate.css").read_text(encoding="utf-8")


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
    losses = Losses.of(labels["values"], **{key: value for key, value in labels.items() if key != "values"})
    if losses is None:
        return ""
    return f"<p>{escape(losses.words(labels['values']))}</p>"


def _labels_asked(body: Mapping[str, Any]) -> str:
    error = body.get("answer_error")
    if error is None or error["labels"] == 0:
        return str(body["labels"]["asked"])
    return f"{body['proof']['asked']} for the choice, {error['labels']} for its error"


def _verdict(body: Mapping[str, Any]) -> str:
    """Proven or not; if not, why not and what would help, where the certificate says so."""
    if body["certified"]:
        if body.get("enclosing", {}).get("enclosed"):
            return (
                "Certified: every half-space that contradicts no label lies in this cell of the lattice. All labs of which "
                "that is true return this very rule, surely, if some half-space makes no error."
            )
        return f"Certified: {_pair_promise(body)}."
    verdict = body.get("verdict")
    if verdict is None:
        return "Not certified: agreement with other labs is not proven by this run."
    return f"Not certified: {verdict['why']}. What helps: {verdict['helps']}."


def _pair_promise(body: Mapping[str, Any]) -> str:
    numbers = {each["name"]: each["value"] for each in body["plan"]["numbers"]}
    pair, bound = two_of(numbers.get("labs", 2)), at_most(body["rho_proven"])
    return f"the chance that {pair} both prove this much and have different answers is at most {bound}"


def _facts(body: Mapping[str, Any]) -> dict[str, str]:
    """What a run knows besides, by the kind of its proof."""
    if "proof" in body:
        return _proof_facts(body)
    return _enclosing_facts(body) if "enclosing" in body else _survivor_facts(body)


def _enclosing_facts(body: Mapping[str, Any]) -> dict[str, str]:
    """The cell of a lattice, its direction, and what is proven or predicted of agreement."""
    part, error = body["enclosing"], body["answer_error"]
    left = body["survivors"]["count"]
    cells = f"about 10^{len(str(left)) - 1} cells" if left > 10**6 else count(left, "cell")
    differ = (
        "nothing"
        if body["rho_proven"] >= 1
        else f"labs differ with probability at most {at_most(body['rho_proven'], 4)}"
    )
    facts = {
        "cell of the lattice": " ".join(map(str, part["cell"])),
        "direction": " ".join(f"{each:.6f}" for each in part["direction"]),
        "left by the labels": cells,
        "proven": "all labs that are certified in this way have this cell" if part["enclosed"] else differ,
    }
    if not part["enclosed"]:
        facts["predicted"] = f"labs differ with probability {about(body['rho_predicted'], 4)}: an estimate, no proof"
    if body["certified"] and error is not None:
        facts["error"] = f"at most {at_most(error['high'], 4)}, at level {error['level']:g}"
    return facts


def _survivor_facts(body: Mapping[str, Any]) -> dict[str, str]:
    """Who was left, and what is proven and predicted of agreement."""
    return {
        "survivors": f"{count(body['survivors']['count'], 'hypothesis', 'hypotheses')}; the shared order chose among "
        f"{body['kept']['count']:,}",
        "proven": "-" if body["rho_proven"] is None else f"at most {at_most(body['rho_proven'], 4)}",
        "predicted": "-" if body["rho_predicted"] is None else about(body["rho_predicted"], 4),
    }


def _proof_facts(body: Mapping[str, Any]) -> dict[str, str]:
    """Who is left, at which level, and how good the answer is."""
    part, error = body["proof"], body["answer_error"]
    facts = {
        "ideal answer": "the hypothesis with the smallest error plus public handicap",
        "survivors": f"{count(body['survivors']['count'], 'hypothesis', 'hypotheses')}, proven to contain the ideal answer",
        "level": f"asked for {part['beta']:g}, proven {round_up_to(part['doubt'], 6)}",
        "items looked at": f"{part['scanned']:,}, of which {count(part['asked'], 'was', 'were')} asked",
    }
    if part["tolerance"] is not None and part["tolerance"] < 1:
        facts["tolerance"] = (
            f"the first of the public order errs at most {at_most(part['tolerance'], 4)} more than the best, at level "
            f"{part['beta']:g}"
        )
    if part["excess_upper"] is not None:
        plain = not _costs(body["protocol"]["labels"])
        facts["excess error" if plain else "excess loss, in costliest errors"] = (
            f"at most {at_most(part['excess_upper'], 4)}, at level {round_up_to(2 * part['beta'], 3)}"
        )
    return facts | _error_facts(error)


def _error_facts(error: Mapping[str, Any] | None) -> dict[str, str]:
    """The answer's own error, where it was measured."""
    if error is None or error["of"] != "error":
        return {}
    return {
        "error": f"{about(error['estimate'])} on {count(error['labels'], 'fresh item')}; between {at_least(error['low'])} "
        f"and {at_most(error['high'])} at level {error['level']:g}"
    }


def _table(rows: Mapping[str, str], *, code: bool = False) -> str:
    cells = (
        f"<tr><th>{escape(name)}</th><td>{f'<code>{escape(value)}</code>' if code else escape(value)}</td></tr>"
        for name, value in rows.items()
    )
    return f'<div class="scroll"><table class="facts"><tbody>{"".join(cells)}</tbody></table></div>'
