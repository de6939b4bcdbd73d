"""Writes /opt/server/run, which starts the package's command as uvx would: the only console script
that it has, or else the one that is named like the package."""

import os
import re
import sys
from importlib.metadata import distribution

root = "/opt/server"


def normal(name):
    """Names of packages and commands are compared as PEP 503 says."""
    return re.sub(r"[-_.]+", "-", name).lower()


name = re.match(r"[A-Za-z0-9._-]+", sys.argv[1]).group()
names = sorted({script.name for script in distribution(name).entry_points.select(group="console_scripts")})
if not names:
    sys.exit(f"{name} has no command (console script), so it cannot be run as a server")
chosen = names[0] if len(names) == 1 else next((one for one in names if normal(one) == normal(name)), None)

# Where uvx could not choose either, the image still serves an entry whose "command" does.
if chosen is None:
    lines = [f"echo '{name} has several commands: {', '.join(names)}. Set \"command\" to one of them' >&2", "exit 64"]
else:
    lines = [f"exec '{root}/bin/{chosen}' \"$@\""]
with open(f"{root}/run", "w", encoding="utf-8") as script:
    script.write("\n".join(["#!/bin/sh", *lines, ""]))
os.chmod(f"{root}/run", 0o755)
