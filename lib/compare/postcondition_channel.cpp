#include <cmath>

#include "lib/base/numeric.h"
#include "lib/compare/channels.h"
#include "lib/compare/tally.h"

namespace opreplay {

void postcondition_channel(const Evidence& evidence, const Bound& bound, Result target,
                           OutputComparison& out) {
  const std::vector<double> values = load_elements(component_type(evidence.dtype), target.bytes);
  Finding finding = bound.postcondition(values);
  Tally tally;
  for (const double y : values) tally.seen(y);
  for (const Finding::Wrong& wrong : finding.wrong) {
    const double y = values[wrong.index];
    const Element element{wrong.index, y, wrong.expected, 0};
    if (!std::isfinite(y)) {
      tally.wrong_class(element);
      continue;
    }
    ++tally.bad;
    // An element may be wrong beside others and yet have a right value: a duplicate.
    const double error = std::abs(y - wrong.expected);
    tally.value(element, error > 0 ? error : 1, 0);
  }
  if (finding.whole) tally.bad = static_cast<std::int64_t>(values.size());
  for (std::string& note : finding.notes) out.notes.push_back(std::move(note));
  tally.write(out, values.size(), evidence.reference.sizes);
}

}  // namespace opreplay
