#include "lib/session/programs.h"

#include <cstdlib>
#include <system_error>
#include <vector>

#include "opreplay/error.h"

namespace opreplay {

namespace fs = std::filesystem;

fs::path program_file(const std::string& file) {
  std::vector<fs::path> folders;
  if (const char* chosen = std::getenv("OPREPLAY_LIBEXEC"); chosen && *chosen) {
    folders.emplace_back(chosen);
  } else {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (!error) folders.push_back(program.parent_path().parent_path() / "libexec" / "opreplay");
    folders.emplace_back(OPREPLAY_BUILD_LIBEXEC);
    folders.emplace_back(OPREPLAY_INSTALL_LIBEXEC);
  }
  std::string looked;
  for (const fs::path& folder : folders) {
    std::error_code error;
    if (fs::is_regular_file(folder / file, error)) return folder / file;
    looked += (looked.empty() ? "" : ", ") + folder.string();
  }
  throw Error(ExitCode::internal, file + " not found: looked in " + looked +
                                      "; set OPREPLAY_LIBEXEC to the folder that holds it");
}

}  // namespace opreplay
