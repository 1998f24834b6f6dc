#pragma once
/// Runs a model's graph node by node through the dispatcher, on the CPU, on the sample inputs the
/// file holds. Values are freed after their last use. No gradients are recorded.
/// Torch-free to include.

#include "lib/base/graph_run.h"

namespace opreplay {

/// Runs the graph to its end or to the first node that fails. What nodes throw, or weights or
/// sample inputs that cannot be read, is data (GraphRun::failure); what was recorded until then is
/// kept.
GraphRun run_graph(const GraphRunRequest& request);

}  // namespace opreplay
