"""Writes the lock: all packages with their digests, from pip's resolution. Prints the lock as a line too, which the hub
stores: a build with this lock installs the same packages again."""

import base64
import gzip
import json
import sys

report, lock = sys.argv[1:]
with open(report, encoding="utf-8") as file:
    resolved = json.load(file)["install"]
lines = []
for one in resolved:
    name, version = one["metadata"]["name"], one["metadata"]["version"]
    digest = one["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256")
    if digest is None:
        sys.exit(f"the index gives no digest of {name} {version}, so it cannot be installed")
    lines.append(f"{name}=={version} --hash=sha256:{digest}\n")
text = "".join(sorted(lines, key=str.lower))
with open(lock, "w", encoding="utf-8") as file:
    file.write(text)
print("agenthub-lock", base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode(), flush=True)
