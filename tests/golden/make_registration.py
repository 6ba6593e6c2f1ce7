"""Make the golden registration and what follows from it: ``python tests/golden/make_registration.py``.

A file that was published, signed with a key that everybody knows: it must keep its bytes, and stay readable.
"""

import json
import sys
import tempfile
from pathlib import Path

from replical.lab.certificate.file import seal, text_of
from replical.lab.signatures import read_private
from support.lab import LABELS
from support.registering import BEACON, RegisteredRun, said

HERE = Path(__file__).parent
# RFC 8032, section 7.1, test 1: the secret key 9d61..7f60 in PKCS8.
KEY = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n"
PUBLIC = "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
PROVENANCE = {"replical": "0.2.0", "python": "3.11.0", "numpy": "2.0.0", "created": "2030-01-01T00:00:00+00:00"}


def columns():
    """Forty items and six candidates by arithmetic alone: no version of NumPy changes them."""
    truth = [number * 7 % 5 % 2 for number in range(40)]
    said = {f"m{c}": [code ^ (number * (c + 3) % 11 <= c) for number, code in enumerate(truth)] for c in range(6)}
    codes = {"truth": truth} | said
    return {"id": [f"i{number}" for number in range(40)]} | {
        name: [LABELS[x] for x in each] for name, each in codes.items()
    }


def made(folder):
    """The registration as it was published, the seed after the draw, and what the certificate says of both."""
    run = RegisteredRun(folder, said(beacon=BEACON, keys={"north": PUBLIC}), columns(), "north", beacon="4f1c")
    (folder / "key.pem").write_text(KEY)
    fixed = run.registration | {"provenance": PROVENANCE | {"seal": seal(run.registration["digest"], PROVENANCE)}}
    body = run.certificate["body"]
    told = {key: body[key] for key in ("registration", "beacon", "private_commitment", "transcript", "hypothesis")}
    signed = read_private(folder / "key.pem").sign(fixed)
    return {"registration": signed, "seed": run.session.private.hex(), "certificate": told}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        (HERE / "registration.json").write_text(text_of(made(Path(name))), encoding="utf-8")
    sys.stdout.write(json.dumps({"wrote": "registration.json"}) + "\n")
