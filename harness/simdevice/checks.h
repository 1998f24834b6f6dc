#pragma once
/// What of a fault file only torch's operators can tell: patterns that match nothing, arguments
/// that no matched operator has, effects that a matched operator cannot show.

#include <string>
#include <vector>

#include "harness/simdevice/fault.h"

namespace c10 {
class OperatorHandle;
}

namespace opreplay::sim {

/// One line per problem, as "fault 'name': text".
std::vector<std::string> problems_of(const Fault& fault,
                                     const std::vector<c10::OperatorHandle>& operators);

}  // namespace opreplay::sim
