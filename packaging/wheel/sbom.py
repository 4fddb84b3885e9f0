"""The bill of materials of the wheel, in SPDX 2.3 (JSON), which scanners of licences and of known faults read (PEP 770)."""
from __future__ import annotations

import json
import time
import uuid

# How what is in sources.txt is linked, in SPDX's words: of shared libraries the wheel has the files, of others the code is in its own.
RELATIONS = {"shared": "DYNAMIC_LINK", "in-ffmpeg": "STATIC_LINK", "in-tool": "STATIC_LINK", "in-both": "STATIC_LINK"}


def package(name: str, version: str, licence: str, **more: object) -> dict[str, object]:
    return {"SPDXID": f"SPDXRef-{name}", "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": licence, "copyrightText": "NOASSERTION", **more}


def reference(kind: str, locator: str) -> list[dict[str, str]]:
    return [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": kind, "referenceLocator": locator}]


def document(version: str, rows: list[list[str]], epoch: int) -> bytes:
    """The document of bload's version: rows are those of sources.txt, epoch is the date, in seconds since 1970. The same arguments give the
    same bytes."""
    packages = [package("bload", version, "MIT", externalRefs=reference("purl", f"pkg:pypi/bload@{version}"))]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-bload")]
    for name, debian, checksum, licence, linked, _ in rows:
        packages.append(package(name, debian, " AND ".join(licence.split(",")),
                                externalRefs=reference("purl", f"pkg:deb/debian/{name}@{debian.replace(':', '%3A').replace('+', '%2B')}?arch=source"),
                                comment=f"Debian's source package, with its patches; SHA-256 of the .dsc: {checksum}"))
        relations.append(("SPDXRef-bload", RELATIONS[linked], f"SPDXRef-{name}"))
    unique = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([version, rows, epoch]))
    text = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"bload-{version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/bload-{version}-{unique}",
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)), "creators": ["Organization: The bload authors"]},
            "packages": packages,
            "relationships": [{"spdxElementId": one, "relationshipType": relation, "relatedSpdxElement": other} for one, relation, other in relations]}
    return (json.dumps(text, indent=1) + "\n").encode()
