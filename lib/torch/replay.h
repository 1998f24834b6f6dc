#pragma once
/// Replays one case: reference and target on the same bytes, then every channel of the oracle.
/// The worker's main piece of work; everything it finds goes into the Outcome.

#include <c10/core/Device.h>

#include "lib/base/request.h"
#include "lib/base/worker_protocol.h"
#include "opreplay/outcome.h"

namespace opreplay {

struct ReplayTarget {
  c10::Device device = c10::Device(c10::DeviceType::CPU);
  std::int64_t max_bytes = std::int64_t{4} << 30;
};

/// Never throws for what an operator or a device does. The journal is told each stage before it
/// starts.
Outcome replay(const ReplayRequest& request, const ReplayTarget& target, Journal& journal);

}  // namespace opreplay
