#!/usr/bin/env bash
# Prints the timing figures (minimum of several runs) of the release build.
# The model captured is llama.pt2 of OPREPLAY_CORPUS, else the small one the build exports.
set -euo pipefail
cd "$(dirname "$0")/../.."
exec python3 tests/bench/bench.py build/release/bin build/release/models/tiny_llama.pt2
