#!/bin/bash
# Runs an apt command with one more Debian suite than this system's sources name, and leaves those sources alone.
#
# usage: deploy/apt-suite.sh [--alone] SUITE apt-get|apt-cache ARGUMENT...
#   SUITE    for example bookworm-backports: taken from the mirror that the system's own main archive comes from, and
#            preferred (-t SUITE)
#   --alone  the suite without the system's sources: to look at or download its packages, not to install them
# The suite's package lists are kept in ${RAILCNI_CACHE:-~/.cache/railcni}/apt; `apt-get update` fetches them.
set -euo pipefail

die() { printf 'apt-suite: %s\n' "$*" >&2; exit 1; }

alone=
if [ "${1:-}" = --alone ]; then alone=-alone; shift; fi
[ $# -ge 2 ] || die "usage: deploy/apt-suite.sh [--alone] SUITE apt-get|apt-cache ARGUMENT..."
suite=$1
shift

# The archive that has Debian itself. Before the first `apt-get update` a source has no origin yet.
# shellcheck disable=SC2016  # $(...) is for apt-get
{
  mirror=$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
           awk '$1 == "Debian" && $2 == "Debian" && $3 == "main" && !n++ { print $4 }')
  [ -n "$mirror" ] ||
    mirror=$(apt-get indextargets --format '$(COMPONENT) $(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
             awk '$1 == "main" && $2 ~ /^(bookworm|oldstable|stable)$/ && !n++ { print $3 }')
  named=$(apt-get indextargets --format '$(RELEASE)' 'Created-By: Packages' | grep -cxF -- "$suite" || true)
}
[ -n "$mirror" ] || die "no Debian archive among this system's apt sources"

folder=${RAILCNI_CACHE:-$HOME/.cache/railcni}/apt/$suite$alone
mkdir -p "$folder/sources" "$folder/lists/partial"
options=(-o "Dir::Etc::sourceparts=$folder/sources" -o "Dir::State::lists=$folder/lists" -o "APT::Default-Release=$suite"
         -o APT::Sandbox::User=root -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
find "$folder/sources" -type f -delete
if [ -n "$alone" ]; then
  options+=(-o Dir::Etc::sourcelist=/dev/null)
else
  parts=$(apt-config shell parts Dir::Etc::sourceparts/d)
  eval "$parts"
  # shellcheck disable=SC2154  # set by the line above
  find "$parts" -maxdepth 1 \( -name '*.list' -o -name '*.sources' \) -exec cp -t "$folder/sources" {} +
fi
# apt refuses a suite that is named twice with different keys.
if [ -n "$alone" ] || [ "$named" = 0 ]; then
  cat >"$folder/sources/railcni-$suite.sources" <<SOURCES
Types: deb
URIs: $mirror
Suites: $suite
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
SOURCES
fi

command=$1
shift
exec "$command" "${options[@]}" "$@"
