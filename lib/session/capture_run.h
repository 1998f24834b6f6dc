#pragma once
/// Capture with values: the captured graph run once on the CPU, in a worker.

#include <filesystem>

#include "lib/base/graph_run.h"
#include "opreplay/capture.h"

namespace opreplay {

struct ValueCapture {
  CaptureResult captured;  ///< specs with the values the run saw
  GraphRun run;            ///< outputs; `failure` says where it stopped, if it did
};

/// Captures `file` statically, then runs its graph on the sample inputs it holds.
/// Throws Error{invalid_input} as capture_file does, and where the worker crashes or hangs.
ValueCapture capture_with_values(const std::filesystem::path& file, std::int64_t max_bytes,
                                 double timeout_s);

}  // namespace opreplay
