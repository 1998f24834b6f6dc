#!/usr/bin/env bash
# From nothing to a verdict on a real exported decoder model: installs what is missing, builds, exports
# the model and checks it on the simulated device with three planted faults (faults.yaml).
# Exit code 1: the demo device is blocked.
set -euo pipefail
cd "$(dirname "$0")/../.."

cmake/deps.sh
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build --preset release --target opreplay_programs -- --quiet

out=build/quickstart
mkdir -p "$out"
model=$out/tiny_llama.pt2
if [ ! -f "$model" ] || [ examples/quickstart/make_model.py -nt "$model" ]; then
  echo "exporting $model"
  build/venv/bin/python examples/quickstart/make_model.py "$model" 2>"$out/export.log" ||
    { cat "$out/export.log" >&2; exit 6; }
fi

rm -rf "$out/run"
exec build/release/bin/opreplay check "$model" --device sim:examples/quickstart/faults.yaml \
  -o "$out/run" --report "md:$out/report.md" --report "junit:$out/report.xml"
