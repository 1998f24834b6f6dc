#pragma once
/// The command line that runs exactly one case again.

#include <string>

#include "opreplay/plan.h"
#include "opreplay/session.h"

namespace opreplay {

/// Quotes `text` for a POSIX shell where it needs it.
std::string shell_quote(const std::string& text);

/// `opreplay run '<case>' --device D`; by spec file and case id where the string alone would not
/// give the same input bytes (specs that were never written have no file to name).
std::string repro_line(const PlannedCase& planned, const SessionOptions& options);

}  // namespace opreplay
