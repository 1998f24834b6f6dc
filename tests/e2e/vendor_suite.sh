#!/usr/bin/env bash
# The vendor example against an installed prefix, in an empty folder, with each compiler there is:
# builds without a warning, passes on the honest device, and a planted fault fails exactly its test
# with case string, worst element and repro line in the failure text.
# Usage: vendor_suite.sh SOURCE_DIR BUILD_DIR WORK_DIR
set -euo pipefail
source_dir=$1 build_dir=$2 work_dir=$3

rm -rf "$work_dir"
mkdir -p "$work_dir"
cmake --install "$build_dir" --prefix "$work_dir/prefix" >/dev/null
cp -r "$source_dir/examples/vendor_suite_catch2" "$work_dir/suite"

fail() {
  echo "FAILED ($compiler): $1"
  exit 1
}

for compiler in g++ clang++; do
  command -v "$compiler" >/dev/null || fail "no $compiler on this machine"
  folder=$work_dir/$compiler
  cmake -S "$work_dir/suite" -B "$folder" -G Ninja -DCMAKE_PREFIX_PATH="$work_dir/prefix" \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_FLAGS="-Wall -Wextra -Wconversion -Werror" >"$folder.log" 2>&1 ||
    { cat "$folder.log"; fail "does not configure"; }
  cmake --build "$folder" >"$folder.log" 2>&1 || { cat "$folder.log"; fail "does not build"; }

  cd "$work_dir" # nothing of the source tree is near
  export OPREPLAY_DATA=$work_dir/prefix/share/opreplay
  export OPREPLAY_LIBEXEC=$work_dir/prefix/libexec/opreplay
  "$folder/vendor_suite" >"$folder.out" 2>&1 || { cat "$folder.out"; fail "the honest device fails"; }
  grep -q "All tests passed" "$folder.out" || fail "no test ran"

  faults=$work_dir/suite/faults.yaml
  if VENDOR_DEVICE="sim:$faults" "$folder/vendor_suite" >"$folder.out" 2>&1; then
    cat "$folder.out"
    fail "the planted fault went unnoticed"
  fi
  for expected in "clamp keeps NaN" "blocked wrong_class" \
    "aten.clamp(f32[2,3,4,5], 0.0, 1.0) values.nan@first" "element [0,0,0,0]" "reference nan" \
    "opreplay run 'aten.clamp(f32[2,3,4,5], 0.0, 1.0) values.nan@first' --device"; do
    grep -qF "$expected" "$folder.out" || { cat "$folder.out"; fail "the text lacks: $expected"; }
  done
  grep -qE "test cases: +3 \| +2 passed \| +1 failed" "$folder.out" ||
    { cat "$folder.out"; fail "other tests failed too"; }
  echo "$compiler: passed"
done
