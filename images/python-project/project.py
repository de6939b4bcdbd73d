"""Steps of the image build that depend on the project. The first argument is the name of a step."""

import base64
import gzip
import os
import re
import sys

try:
    import tomllib
except ImportError:  # before Python 3.11
    from pip._vendor import tomli as tomllib

root = "/app"


def tell():
    """Prints uv.lock as a line, which the hub stores."""
    with open(f"{root}/uv.lock", "rb") as file:
        print("agenthub-lock", base64.b64encode(gzip.compress(file.read(), mtime=0)).decode(), flush=True)


def normal(name):
    """Normalizes the name of a project or command (PEP 503), for comparison."""
    return re.sub(r"[-_.]+", "-", name).lower()


def start_line():
    with open(f"{root}/pyproject.toml", "rb") as file:
        project = tomllib.load(file).get("project", {})
    names = sorted(project.get("scripts", {}))
    own = normal(project.get("name", ""))
    chosen = names[0] if len(names) == 1 else next((one for one in names if normal(one) == own), None)
    if chosen is not None:
        if not os.path.exists(f"{root}/.venv/bin/{chosen}"):
            sys.exit(f"uv did not install the script {chosen}: add a [build-system] to pyproject.toml, which makes the project a package")
        return f"exec '{root}/.venv/bin/{chosen}' \"$@\""
    program = next((one for one in ("main.py", "server.py") if os.path.exists(f"{root}/{one}")), None)
    if program is not None:
        return f"exec '{root}/.venv/bin/python' '{root}/{program}' \"$@\""
    # The image can still be used by setting "command" in the config of the server.
    why = 'pyproject.toml names no program: add [project.scripts] to it, or "command" and "args" to the entry'
    return f"echo '{why}' >&2\nexit 64"


def run():
    os.makedirs("/opt/server", exist_ok=True)
    with open("/opt/server/run", "w", encoding="utf-8") as script:
        script.write(f"#!/bin/sh\n{start_line()}\n")
    os.chmod("/opt/server/run", 0o755)


{"tell": tell, "run": run}[sys.argv[1]]()
