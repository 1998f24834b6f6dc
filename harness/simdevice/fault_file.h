#pragma once
/// Reads a fault file. The command checks with it before it starts a worker; the device reads the
/// same file when it is loaded. Format: docs/faults.md.

#include <filesystem>
#include <string>

#include "harness/simdevice/fault.h"

namespace opreplay::sim {

/// Throws Error{invalid_input} whose message lists every problem, one a line:
/// "file:line:column: what, what was expected, what was found".
FaultFile load_faults(const std::filesystem::path& file);

/// The same from a text; `name` stands for the file in messages.
FaultFile parse_faults(const std::string& text, const std::string& name);

}  // namespace opreplay::sim
