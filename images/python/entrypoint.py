"""Writes /opt/server/run, which starts the package's command as uvx would: its only console script,
otherwise the console script with the name of the package."""

import os
import re
import sys
from importlib.metadata import distribution

root = "/opt/server"


def normal(name):
    """Normalizes the name of a package or command (PEP 503), for comparison."""
    return re.sub(r"[-_.]+", "-", name).lower()


name = re.match(r"[A-Za-z0-9._-]+", sys.argv[1]).group()
names = sorted({script.name for script in distribution(name).entry_points.select(group="console_scripts")})
if not names:
    sys.exit(f"{name} has no command (console script), so it cannot be run as a server")
chosen = names[0] if len(names) == 1 else next((one for one in names if normal(one) == normal(name)), None)

# If the command is ambiguous for uvx too, the image can be used by setting "command" in the config of the server.
if chosen is None:
    lines = [f"echo '{name} has several commands: {', '.join(names)}. Set \"command\" to one of them' >&2", "exit 64"]
else:
    lines = [f"exec '{root}/bin/{chosen}' \"$@\""]
with open(f"{root}/run", "w", encoding="utf-8") as script:
    script.write("\n".join(["#!/bin/sh", *lines, ""]))
os.chmod(f"{root}/run", 0o755)
