#!/usr/bin/env bash
# The whole set-up and all tests on a bare Debian 12 machine, in under 45 minutes on 2 cores.
#   tests/run.sh          the ci tier: everything, with seeded samples where a full sweep is long
#   tests/run.sh --full   the full tier: no sampling; by hand, before a release
# OPREPLAY_CORPUS=DIR adds the larger set of exported models in DIR (see docs/testing.md).
set -euo pipefail
cd "$(dirname "$0")/.."

# Samples are drawn by OPREPLAY_SEED: the same ones in every ci run, new ones in every full run.
if [ "${1:-}" = --full ]; then
  export OPREPLAY_TIER=full OPREPLAY_SEED="${OPREPLAY_SEED:-$(date +%s)}"
  property_tests=2000
else
  export OPREPLAY_TIER=ci OPREPLAY_SEED="${OPREPLAY_SEED:-2026}"
  property_tests=100
fi
export RC_PARAMS="seed=$OPREPLAY_SEED max_success=$property_tests"
echo "tier $OPREPLAY_TIER, OPREPLAY_SEED=$OPREPLAY_SEED"
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1

cmake/deps.sh

step() { printf '\n== %s (%ss)\n' "$1" "$SECONDS"; }

step "format"
git ls-files '*.cpp' '*.h' | xargs clang-format --dry-run --Werror

step "build: dev (sanitizers, torch-free)"
cmake --preset dev >/dev/null
cmake --build --preset dev
step "test: dev"
ctest --preset dev -j2

# Without the files of the command: the option parser's header alone takes 20 s each.
step "tidy (torch-free libraries)"
run-clang-tidy -quiet -j "$(nproc)" -p build/dev -extra-arg=-w "^$PWD/(lib|harness/(simdevice|worker))/" \
  >build/dev/tidy.log 2>&1 || { grep -E '(error|warning):' build/dev/tidy.log | sort -u; exit 1; }

step "build: release"
cmake --preset release >/dev/null
cmake --build --preset release
step "test: release"
ctest --preset release -j2 -LE bench
step "test: bench (serially)"
ctest --preset release -L bench --no-tests=ignore
step "done"
