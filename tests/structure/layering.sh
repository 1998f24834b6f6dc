#!/usr/bin/env bash
# The walls of the source tree (docs/design.md, "The flow and the rooms"):
#  - a room includes only rooms below it;
#  - torch headers appear in lib/torch, the worker, the simulated device and their tests only;
#  - public headers include nothing but the standard library and each other;
#  - lib never prints, exits or logs (a forked child may _exit).
# Usage: layering.sh SOURCE_DIR. Prints each violation as file:line and exits 1 if there is any.
set -euo pipefail
cd "$1"

violations=0
violation() {
  echo "$1"
  violations=1
}

# Rooms in order; a room may include itself and the rooms listed for it.
declare -A below=(
  [base]=""
  [compare]="base"
  [spec]="base"
  [model]="base spec"
  [plan]="base compare spec"
  [judge]="base"
  [isolate]="base spec"
  [ledger]="base judge plan spec"
  [report]="base judge ledger plan spec"
  [session]="base spec model plan judge isolate"
  [torch]="base compare"
)

for room in lib/*/; do
  room=$(basename "$room")
  if [ -z "${below[$room]+known}" ]; then
    violation "lib/$room: a room this test does not know; give it a place in the layering"
    continue
  fi
  allowed=$(echo "$room ${below[$room]}" | tr ' ' '|' | sed 's/|*$//; s/||*/|/g')
  while IFS= read -r hit; do
    violation "$hit (room $room may include: ${below[$room]:-nothing} and itself)"
  done < <(grep -rnE '#include "lib/' "lib/$room" --include='*.h' --include='*.cpp' |
             grep -vE "#include \"lib/($allowed)/" || true)
done

while IFS= read -r hit; do
  violation "$hit (torch outside its wall)"
done < <(grep -rnE '#include [<"](ATen|c10|torch)/' include lib harness examples tests \
           --include='*.h' --include='*.cpp' --include='*.hpp' |
           grep -vE '^(lib/torch|harness/worker|harness/simdevice|tests/torch|include/opreplay/torch\.h)' || true)

while IFS= read -r hit; do
  violation "$hit (public headers are self-contained)"
done < <(grep -rnE '#include "' include | grep -vE '#include "opreplay/' || true)

while IFS= read -r hit; do
  violation "$hit (lib neither prints nor exits)"
done < <(grep -rnE '\bstd::(cout|cerr|clog)\b|\b(printf|puts|abort)\(|(^|[^_[:alnum:]])exit\(' lib \
           --include='*.h' --include='*.cpp' | grep -vE '//.*(printf|exit|abort)\(' || true)

exit $violations
