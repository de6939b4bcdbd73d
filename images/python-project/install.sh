# Installs the dependencies of the project (argument "packages"; its files are not needed), or the project ("project").
set -eu
unprivileged="setpriv --reuid=1000 --regid=1000 --clear-groups --no-new-privs"
uv="$unprivileged /opt/uv/bin/uv"
chown -hR 1000:1000 /app

lock() {
  [ ! -f uv.lock ] || return 0
  if [ -f /opt/lock ]; then
    $unprivileged cp /opt/lock uv.lock
  else
    $uv lock
    python3 /opt/project.py tell
  fi
}

if [ "$1" = packages ]; then
  # This fails if metadata, such as the version, depends on the project's files. Then "project" installs all packages.
  hasLock=$([ ! -f uv.lock ] || echo yes)
  { lock && $uv sync --locked --no-dev --no-install-workspace; } || {
    echo 'the packages are installed together with the project'
    rm -rf .venv
    [ "$hasLock" = yes ] || rm -f uv.lock
  }
else
  lock
  $uv sync --locked --no-dev
  python3 /opt/project.py run
fi
rm -rf /tmp/*
