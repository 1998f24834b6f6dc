#include <cstdlib>
#include <system_error>

#include "lib/spec/schema_table.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

namespace fs = std::filesystem;

bool holds_data(const fs::path& folder) {
  std::error_code error;
  return fs::is_directory(folder / "opspecs", error);
}

}  // namespace

fs::path data_folder() {
  if (const char* chosen = std::getenv("OPREPLAY_DATA"); chosen && *chosen) {
    if (holds_data(chosen)) return chosen;
    throw Error(ExitCode::internal, "OPREPLAY_DATA names " + std::string(chosen) +
                                        ", which holds no folder opspecs; set it to the "
                                        "share/opreplay of an installation");
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  fs::path installed =
      error ? fs::path() : program.parent_path().parent_path() / "share" / "opreplay";
  if (!installed.empty() && holds_data(installed)) return installed;
  fs::path source = OPREPLAY_SOURCE_DIR;
  if (holds_data(source)) return source;
  throw Error(ExitCode::internal, "no folder with opspecs found: looked at " + installed.string() +
                                      " and " + source.string() +
                                      "; set OPREPLAY_DATA to the folder that holds it");
}

}  // namespace opreplay
