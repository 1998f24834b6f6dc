#pragma once
/// Higher-order operators: nodes that run subgraphs. Part of lib/torch/interpreter.h.

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/graph.h"

namespace opreplay {

/// The interpreter, as these operators see it.
class SubgraphRunner {
 public:
  virtual ~SubgraphRunner() = default;
  /// Runs a graph on its inputs; `first_number` is the number of its first node.
  virtual std::vector<c10::IValue> run(const Graph& graph, std::vector<c10::IValue> inputs,
                                       std::int64_t first_number) = 0;
};

bool is_higher_order(const std::string& target);

/// Runs `node` on its resolved arguments (subgraphs among them as the words "graph:N");
/// `first_number` is the number of the first node of its first subgraph. Results are flat.
/// Throws Error{invalid_input} for an operator that is not known.
std::vector<c10::IValue> call_higher_order(const GraphNode& node,
                                           const std::vector<c10::IValue>& arguments,
                                           std::int64_t first_number, SubgraphRunner& runner);

}  // namespace opreplay
