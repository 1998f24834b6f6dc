#pragma once
/// Puts what a run of the graph saw into captured specs, so that replayed inputs look like the
/// model's own.

#include "lib/base/graph_run.h"
#include "opreplay/capture.h"

namespace opreplay {

/// Sets TensorArg::values of every call whose nodes the run reached, and the specs' capture to
/// "run". Floating tensors become a normal distribution of the same mean and deviation, clamped to
/// the same range; integers a uniform one over the same range, or the data itself where it is small
/// (indices, masks). A call that several nodes make gets the statistics of all of them together.
void apply_values(CaptureResult& capture, const GraphRun& run);

}  // namespace opreplay
