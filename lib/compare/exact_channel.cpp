#include <cmath>
#include <cstring>

#include "lib/base/numeric.h"
#include "lib/compare/channels.h"
#include "lib/compare/tally.h"

namespace opreplay {
namespace {

bool same_class(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return true;
}

}  // namespace

void exact_channel(const Evidence& evidence, Result target, Result witness, OutputComparison& out) {
  const DType dtype = component_type(evidence.dtype);
  const bool floating = is_floating(dtype);
  const std::size_t size = size_of(dtype);
  const bool has_witness = !witness.bytes.empty();
  const std::vector<double>& reference = evidence.reference.data;
  const std::size_t count = has_witness ? witness.bytes.size() / size : reference.size();

  Tally tally;
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* got = target.bytes.data() + i * size;
    const std::byte* expected = has_witness ? witness.bytes.data() + i * size : nullptr;
    const double y = load_element(dtype, got);
    tally.seen(y);
    if (expected && std::memcmp(got, expected, size) == 0) continue;

    const double r = expected ? load_element(dtype, expected) : round_to(dtype, reference[i]);
    const Element element{i, y, r, 0};
    if (!same_class(y, r)) {
      tally.wrong_class(element);
      continue;
    }
    if (!std::isfinite(r)) continue;  // the same infinity, or NaN whatever its payload
    // Two 64-bit integers may differ and yet round to the same double; witness bytes tell.
    const bool hidden = !floating && expected && y == r && dtype != DType::boolean;
    const double error = hidden ? 1 : std::abs(y - r);
    tally.bad += error != 0;
    tally.value(element, error, floating ? ulp(dtype, r) : 0);
  }
  tally.write(out, count, evidence.reference.sizes);
}

}  // namespace opreplay
