#pragma once
/// Where the worker's parts lie: launcher, worker library, simulated device.

#include <filesystem>
#include <string>

namespace opreplay {

/// The path of `file` ("opreplay-launcher", "libopreplay_worker.so"): in OPREPLAY_LIBEXEC if set,
/// else
/// ../libexec/opreplay of the executable, else of this build or installation.
/// Throws Error{internal} naming the places looked at.
std::filesystem::path program_file(const std::string& file);

}  // namespace opreplay
