"""Write the JSON Schemas that the package ships, from the tables and schemas that its readers check files with."""

import json
from pathlib import Path

import msgspec

import replical
from replical.classes.catalogue import KINDS
from replical.lab import protocol, registration, release, schema
from replical.lab.certificate import envelope, file
from replical.lab.certificate.schema import Body, Provenance
from replical.lab.journal import binding
from replical.lab.signatures import ALGORITHM
from replical.learners.catalogue import LEARNERS
from replical.learners.handicap.confirm import CONFIRM
from replical.learners.parameters import PARAMETERS
from replical.learners.proof import family_of

HERE = Path(replical.__file__).parent / "lab" / "schemas"
TEXT, NUMBER, OBJECT, TRUTH = ({"type": name} for name in ("string", "number", "object", "boolean"))
COUNT, POSITIVE = {"type": "integer", "minimum": 0}, {"type": "integer", "minimum": 1}
DIGEST = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
NAME = {"type": "string", "minLength": 1, "maxLength": schema.LONGEST_NAME}
KEY = {"type": "string", "pattern": "^MCowBQYDK2VwAyEA[A-Za-z0-9+/]{43}=$"}
TEXTS = {"type": "array", "items": TEXT}
NUMBERS = {"type": "array", "items": NUMBER}
LABEL = {"type": ["string", "integer"]}
RUNS = {"type": "string", "pattern": r"^[0-9]+(\*[0-9]+)?( [0-9]+(\*[0-9]+)?)*$"}


def record(required, **optional):
    """An object with these keys and no others."""
    return {
        "type": "object",
        "properties": required | optional,
        "required": list(required),
        "additionalProperties": False,
    }


def either(*kinds):
    return {"anyOf": list(kinds)}


NULL = {"type": "null"}
SIGNATURE = record(
    {"algorithm": {"const": ALGORITHM}, "key": KEY, "value": {"type": "string", "pattern": "^[A-Za-z0-9+/]{86}==$"}}
)


def urn(name):
    return "urn:" + name.replace(".", ":").replace("/", ":")


def named(name, title, made, **more):
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": urn(name),
        "title": title,
    }
    return head | made | more


# ---- protocols ----


def parameter(known):
    """A number of a learner, as its record says what it may be."""
    if known.kind == "word":
        return {"enum": list(known.words)} if known.words else TEXT
    if known.kind == "count":
        return {"type": "integer", "minimum": max(1, int(known.low))}
    least = "exclusiveMinimum" if known.kind == "share" else "minimum"
    return NUMBER | {least: known.low} | ({} if known.high == float("inf") else {"exclusiveMaximum": known.high})


CANDIDATE = record({"name": {"type": "string", "minLength": 1}}, digest=DIGEST)
OF_CLASSES = {
    "features": TEXTS, "candidates": {"type": "array", "items": CANDIDATE, "minItems": 1}, "bins": POSITIVE,
    "count": POSITIVE, "cuts": {"type": "array"},
    "range": {"type": "array", "items": NUMBERS | {"minItems": 2, "maxItems": 2}}, "quantiles": OBJECT,
    "step": NUMBER, "intercept": NUMBER,
}  # fmt: skip
OF_HANDICAPS = {
    "order": {"type": "array"}, "weights": either(NUMBERS, OBJECT), "values": either(NUMBERS, OBJECT),
    "members": {"type": "array"}, "radius": NUMBER, "public": DIGEST, "public_items": POSITIVE, "public_column": TEXT,
    "made": TEXT, "asked": TEXTS, "answers": {"type": "array"}, "shortlist": parameter(PARAMETERS["shortlist"]),
}  # fmt: skip


def classes():
    """One kind of class."""
    for name, kind in KINDS.items():
        own = {"kind": {"const": name}} | {key: OF_CLASSES[key] for key in sorted(kind.needs)}
        yield record(own, **{key: OF_CLASSES[key] for key in sorted(kind.options)})


def labels():
    amounts = {"weights": OBJECT, "abstain": LABEL, "price": NUMBER}
    assert set(amounts) | {"values"} == set(schema._LABELS)
    yield record({"values": {"type": "array", "items": LABEL}}, **amounts)
    yield record({"loss": TEXT}, clip=NUMBER, grid=POSITIVE, source=DIGEST)
    yield record({"scores": either(TEXT, OBJECT)})


def handicaps():
    for source, keys in schema._SOURCES.items():
        more = {key: OF_HANDICAPS[key] for key in ("shortlist", *keys)}
        yield record({"from": {"const": source}}, **more)


def priors():
    for kind, keys in protocol._PRIORS.items():
        yield record({"kind": {"const": kind}}, **{key: OF_HANDICAPS[key] for key in keys})


def protocols():
    group = {"group": {"type": "string", "minLength": 1}, "group_size": POSITIVE}
    weights = {"enum": ["item", "group"]}
    numbers = {name: parameter(PARAMETERS[name]) for name in schema.LEARNER if name in PARAMETERS}
    learner = {"name": TEXT} | {name: numbers.pop(name) for name in ("epsilon", "delta", "rho")}
    keys = {"type": "object", "additionalProperties": KEY, "minProperties": 1}
    said = {
        "schema": {"const": schema.SCHEMA},
        "seed": {"type": "string", "minLength": 1},
        "class": either(*classes()),
        "labels": either(*labels()),
        "learner": record(learner, plan={"enum": ["tight", "paper"]}, **numbers),
    }
    more = {
        "title": TEXT, "notes": TEXT, "register": TRUTH, "beacon": {"type": "string", "minLength": 1},
        "pool": either(record({}), record(group, group_weights=weights), record({"population": DIGEST})),
        "prior": either(*priors()), "handicap": either(*handicaps()),
        "labs": record({"names": {"type": "array", "items": NAME, "minItems": 2, "uniqueItems": True}}, keys=keys),
    }  # fmt: skip
    assert set(said) | set(more) == set(schema.TOP)
    return record(said, **more)


# ---- certificates ----


def certificates():
    families = map(family_of, [*LEARNERS.values(), CONFIRM])
    parts = [*dict.fromkeys(family.Part for family in families if family.Part is not None)]
    refs, known = msgspec.json.schema_components([Body, Provenance, *parts], ref_template="#/$defs/{name}")
    body = known["Body"]
    rounds = dict.fromkeys(file._COLUMNS, RUNS)
    body["properties"]["rounds"] = either(body["properties"]["rounds"], record(rounds))
    body["properties"]["proof"] = either(*refs[2:])
    body["properties"]["protocol"] = {"$ref": "#/$defs/Protocol"}
    proves = ("proof", "verdict", "answer_error")
    body["dependentRequired"] = {name: [each for each in proves if each != name] for name in proves}
    ends = {"journal_events": ["journal_head"], "journal_head": ["journal_events"]}
    known["Provenance"]["dependentRequired"] = ends
    for each in known.values():
        each["description"] = " ".join(each.get("description", "").split())
    whole = {"schema": {"const": file.SCHEMA}, "body": refs[0], "digest": DIGEST, "provenance": refs[1]}
    assert set(whole) == set(file.PARTS)
    return record(whole, signature=SIGNATURE), known | {"Protocol": protocols()}


def statements():
    """A Statement about a certificate: what is in an envelope."""
    whole, known = certificates()
    assert urn(file.SCHEMA) == envelope.PREDICATE
    digests = {"type": "object", "additionalProperties": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}
    said = {
        "_type": {"const": envelope.STATEMENT},
        "predicateType": {"const": envelope.PREDICATE},
        "subject": {"type": "array", "items": record({"name": TEXT, "digest": digests}), "minItems": 1},
        "predicate": whole,
    }
    return record(said), known


# ---- what else is published ----


def registrations():
    (ref,), known = msgspec.json.schema_components([Provenance], ref_template="#/$defs/{name}")
    said = {"schema": {"const": binding.SCHEMA}, "lab": either(NAME, NULL), "confirms": either(DIGEST, NULL)}
    said |= dict.fromkeys(("protocol_fingerprint", "pool_fingerprint", "private_commitment", "digest"), DIGEST)
    said["provenance"] = ref
    assert set(said) == set(registration.PARTS)
    return record(said, signature=SIGNATURE), known


def votes():
    said = {"schema": {"const": release.VOTE_SCHEMA}, "protocol_fingerprint": DIGEST, "shared": DIGEST, "lab": NAME}
    said["votes"] = {"type": "array", "items": COUNT, "uniqueItems": True}
    assert set(said) == set(release.VOTE_PARTS)
    return record(said)


def releases():
    said = {
        "schema": {"const": release.RELEASE_SCHEMA}, "protocol_fingerprint": DIGEST,
        "epsilon": NUMBER | {"exclusiveMinimum": 0, "maximum": release.MOST_EPSILON}, "unit": {"const": "lab"},
        "mechanism": {"const": "noisy maximum"}, "sampler": TEXT, "nobody": either(POSITIVE, NULL),
        "answer": either(record({"index": COUNT, "name": TEXT}), NULL),
    }  # fmt: skip
    return record(said)


def schemas():
    """Every file, by its name."""
    certificate, statement, registered = certificates(), statements(), registrations()
    return {
        "protocol": named(schema.SCHEMA, "Protocol (its TOML, as JSON)", protocols()),
        "certificate": named(file.SCHEMA, "Certificate", certificate[0], **{"$defs": certificate[1]}),
        "statement": named(
            "replical.statement/2", "Certificate in an in-toto Statement", statement[0], **{"$defs": statement[1]}
        ),
        "registration": named(binding.SCHEMA, "Registration", registered[0], **{"$defs": registered[1]}),
        "vote": named(release.VOTE_SCHEMA, "Vote", votes()),
        "release": named(release.RELEASE_SCHEMA, "Release", releases()),
    }


def in_order(made):
    """Alternatives in one order, whichever version of msgspec listed them."""
    if isinstance(made, list):
        return [in_order(each) for each in made]
    if not isinstance(made, dict):
        return made
    found = {key: in_order(value) for key, value in made.items()}
    return found | ({"anyOf": sorted(found["anyOf"], key=json.dumps)} if "anyOf" in found else {})


def text_of(made):
    return json.dumps(in_order(made), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for name, made in schemas().items():
        (HERE / f"{name}.json").write_text(text_of(made), encoding="utf-8")
