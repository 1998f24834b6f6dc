#include "lib/isolate/programs.h"

#include <cstdlib>
#include <system_error>

#include "opreplay/error.h"

namespace opreplay {

namespace fs = std::filesystem;

fs::path executable_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : program.parent_path();
}

std::vector<fs::path> program_folders() {
  if (const char* chosen = std::getenv("OPREPLAY_LIBEXEC"); chosen && *chosen) return {chosen};
  std::vector<fs::path> folders;
  if (const fs::path folder = executable_folder(); !folder.empty())
    folders.push_back(folder.parent_path() / "libexec" / "opreplay");
  folders.emplace_back(OPREPLAY_BUILD_LIBEXEC);
  folders.emplace_back(OPREPLAY_INSTALL_LIBEXEC);
  return folders;
}

fs::path program_file(const std::string& file) {
  std::string looked;
  for (const fs::path& folder : program_folders()) {
    std::error_code error;
    if (fs::is_regular_file(folder / file, error)) return folder / file;
    looked += (looked.empty() ? "" : ", ") + folder.string();
  }
  throw Error(ExitCode::internal, file + " not found: looked in " + looked +
                                      "; set OPREPLAY_LIBEXEC to the folder that holds it");
}

}  // namespace opreplay
