#!/usr/bin/env bash
# Installs what opreplay needs on a Debian 12 machine: build tools and libraries from the
# distribution, PyTorch 2.13.0 into build/venv. Instant when all is there; where it cannot install,
# it says what is missing and leaves the machine as it was.
#
#   cmake/deps.sh           install what is missing
#   cmake/deps.sh --check   only say what is missing; exit 1 if anything is
set -euo pipefail
cd "$(dirname "$0")/.."

readonly torch_version=2.13.0
readonly venv=build/venv
readonly packages=(
  g++ clang cmake ninja-build ccache mold git
  libyaml-cpp-dev libfmt-dev nlohmann-json3-dev libcli11-dev libxxhash-dev
  libpugixml-dev libssl-dev
  catch2 libbenchmark-dev librapidcheck-dev
  clang-format clang-tidy
  python3 python3-venv python3-dev
)

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || echo "$package"
  done
}

torch_ready() {
  [ -x "$venv/bin/python" ] && [ "$(cat "$venv/.torch-version" 2>/dev/null)" = "$torch_version" ]
}

if ! command -v dpkg-query >/dev/null; then
  echo "deps.sh: not a Debian system; install by hand the equivalents of: ${packages[*]}," >&2
  echo "deps.sh: and torch==$torch_version in $venv (or pass -DTORCH_ROOT to cmake)" >&2
  exit 1
fi

mapfile -t missing < <(missing_packages)

if [ "${1:-}" = --check ]; then
  [ ${#missing[@]} -eq 0 ] || echo "deps.sh: missing packages: ${missing[*]}"
  torch_ready || echo "deps.sh: missing: torch==$torch_version in $venv"
  [ ${#missing[@]} -eq 0 ] && torch_ready
  exit
fi

if [ ${#missing[@]} -gt 0 ]; then
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "deps.sh: not root and no sudo; ask an administrator to run:" >&2
      echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  echo "deps.sh: installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
fi

if ! torch_ready; then
  # The distribution's interpreter, whatever python3 stands first on PATH.
  echo "deps.sh: installing torch $torch_version into $venv"
  mkdir -p build
  rm -rf "$venv"
  /usr/bin/python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    "torch==$torch_version"
  "$venv/bin/python" -c 'import torch' # a half-installed torch must not be marked as ready
  echo "$torch_version" > "$venv/.torch-version"
fi
