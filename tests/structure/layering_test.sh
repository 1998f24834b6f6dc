#!/usr/bin/env bash
# The layering test itself can fail: it names a torch include outside the wall, an upward include and
# a print in lib, planted in a copy.
set -euo pipefail
source_dir=$1
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy"/lib/{base,report} "$copy"/{include,harness,examples,tests}
printf '#include <ATen/core/Tensor.h>\n' > "$copy/lib/report/a.cpp"
printf '#include "lib/report/console.h"\n' > "$copy/lib/base/b.cpp"
printf 'void f() { printf("x"); }\n' > "$copy/lib/base/c.cpp"
if found=$("$source_dir/tests/structure/layering.sh" "$copy"); then
  echo "three planted violations went unnoticed"
  exit 1
fi
for file in lib/report/a.cpp:1 lib/base/b.cpp:1 lib/base/c.cpp:1; do
  grep -q "$file" <<< "$found" || { echo "not reported: $file"; exit 1; }
done
