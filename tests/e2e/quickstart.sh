#!/usr/bin/env bash
# The quickstart on a built tree: under 10 s (three times that under test), exit code 1, the three
# planted faults each with reason and repro line.
# Usage: quickstart.sh SOURCE_DIR WORK_DIR
set -uo pipefail
source_dir=$1 work_dir=$2
mkdir -p "$work_dir"
out=$work_dir/quickstart.out

# Once to export the model, once to measure.
"$source_dir/examples/quickstart/run.sh" >"$out" 2>&1
start=$SECONDS
"$source_dir/examples/quickstart/run.sh" >"$out" 2>&1
code=$?
elapsed=$((SECONDS - start))

fail() {
  cat "$out"
  echo "FAILED: $1"
  exit 1
}
[ $code -eq 1 ] || fail "exit code $code, expected 1"
[ $elapsed -lt 30 ] || fail "took $elapsed s"
for expected in "blocked no_kernel  aten.silu" "substitute cpu_fallback  aten.embedding" \
  "blocked wrong_class  aten.pow.Tensor_Scalar" "opreplay run "; do
  grep -qF "$expected" "$out" || fail "the output lacks: $expected"
done
grep -E "^(blocked|substitute)" "$out" | grep -vE "aten\.(silu|embedding|pow\.Tensor_Scalar)(\(|\.yaml)" &&
  fail "a case without a planted fault is blamed"
for file in report.md report.xml run/records.jsonl run/specs/aten.silu.yaml; do
  [ -s "$source_dir/build/quickstart/$file" ] || fail "no $file"
done
echo "passed in $elapsed s"
