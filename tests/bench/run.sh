#!/usr/bin/env bash
# Prints the timing figures (minimum of several runs) of the release build.
#   tests/bench/run.sh [MODEL.pt2]    default: llama.pt2 of OPREPLAY_CORPUS, else the built tiny_llama
set -euo pipefail
cd "$(dirname "$0")/../.."
model=${1:-}
if [ -z "$model" ]; then
  model=build/release/models/tiny_llama.pt2
  if [ -n "${OPREPLAY_CORPUS:-}" ]; then model=$OPREPLAY_CORPUS/llama.pt2; fi
fi
exec python3 tests/bench/bench.py build/release/bin "$model"
