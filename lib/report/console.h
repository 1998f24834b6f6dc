#pragma once
/// The console reporter: results stream to `out`, progress to `err`. docs/reports.md "Console".

#include <chrono>
#include <functional>
#include <memory>
#include <ostream>

#include "lib/report/reporter.h"

namespace opreplay {

enum class Verbosity {
  quiet,    ///< the closing line only
  normal,   ///< every case that does not pass, the ops that do not pass
  verbose,  ///< every case, every op
};

enum class ColorMode { automatic, always, never };

/// Colours on a terminal unless NO_COLOR is set and not empty (https://no-color.org); an explicit
/// choice wins. `no_color` is the variable's value, null if unset.
bool use_color(ColorMode mode, bool terminal, const char* no_color);

struct ConsoleOptions {
  Verbosity verbosity = Verbosity::normal;
  bool color = false;
  /// `err` is a terminal: one progress line, rewritten in place. Otherwise a plain line every 10 s.
  bool progress_in_place = false;
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

/// `out` and `err` must outlive the reporter. `end` throws Error{output_failed} if `out` failed.
std::unique_ptr<Reporter> console_reporter(std::ostream& out, std::ostream& err,
                                           ConsoleOptions options = {});

}  // namespace opreplay
