#include "harness/opreplay/capture_report.h"

#include <fmt/core.h>

namespace opreplay::command {

void print_capture(const CaptureResult& result, bool quiet) {
  if (quiet) return;
  std::int64_t captured = 0, distinct = 0;
  for (const CapturedTarget& target : result.captured) captured += target.count;
  for (const OpSpec& spec : result.specs) distinct += static_cast<std::int64_t>(spec.calls.size());
  fmt::print("captured {} of {} nodes: {} ops, {} distinct calls\n", captured, result.nodes,
             result.specs.size(), distinct);
  for (const NotCaptured& target : result.not_captured)
    fmt::print("  not captured: {} x{} ({})\n", target.target, target.count, target.reason);
}

}  // namespace opreplay::command
