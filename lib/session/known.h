#pragma once
/// Failures a spec declares as known: they keep their verdict and leave the exit code alone.

#include <string>
#include <vector>

#include "opreplay/session.h"

namespace opreplay {

/// Sets `result.known` where an entry names this device (as given, or its profile alone), this
/// reason, and this case or none; notes it where a case declared as known passes.
void apply_known(const std::vector<KnownFailure>& entries, const std::string& device,
                 CaseResult& result);

}  // namespace opreplay
