# Installs the Debian packages in $PACKAGES, and records the version of each package that is added.
set -euf
if ! command -v apt-get >/dev/null; then
  echo "system_packages: the image $BASE has no apt-get, so it is not made of Debian. Remove system_packages, or use an image that is" >&2
  exit 1
fi
installed() { dpkg-query -W -f '${Package}=${Version}\n' | sort; }
installed >/tmp/agenthub-before
apt-get update -q
for package in $PACKAGES; do
  # apt-get would treat an unknown name as a pattern.
  if ! apt-cache show --no-all-versions "$package" >/dev/null 2>&1; then
    echo "system_packages: $package is not a package of $(. /etc/os-release && echo "$PRETTY_NAME"). Look for its name at https://packages.debian.org" >&2
    exit 1
  fi
done
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends -- $PACKAGES
mkdir -p /usr/share/agenthub
installed | comm -13 /tmp/agenthub-before - >/usr/share/agenthub/system-packages
echo "agenthub-lock $(gzip -n -c /usr/share/agenthub/system-packages | base64 -w 0)"
rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log /tmp/agenthub-before /tmp/agenthub-install.sh
