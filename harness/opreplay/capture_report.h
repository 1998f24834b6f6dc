#pragma once
/// What a capture found, for the reader.

#include "opreplay/capture.h"

namespace opreplay::command {

/// Prints counts, and every target that was not captured with its reason.
void print_capture(const CaptureResult& result, bool quiet);

}  // namespace opreplay::command
