#pragma once
/// Where the worker's parts lie: launcher, worker library, simulated device.

#include <filesystem>
#include <string>
#include <vector>

namespace opreplay {

/// The folders in which the worker's parts are looked for: OPREPLAY_LIBEXEC alone if set, else
/// ../libexec/opreplay of the executable, then that of this build or installation.
std::vector<std::filesystem::path> program_folders();

/// The path of `file` ("opreplay-launcher", "libopreplay_worker.so") in one of them.
/// Throws Error{internal} naming the places looked at.
std::filesystem::path program_file(const std::string& file);

/// The folder of the running executable; empty if the system does not tell.
std::filesystem::path executable_folder();

}  // namespace opreplay
