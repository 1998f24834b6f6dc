#pragma once
/// Running a whole graph in the worker: what is asked for and what comes back. The graph itself:
/// graph.h. Who runs it: lib/torch/interpreter.h. Who uses the statistics:
/// lib/model/apply_values.h.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/base/graph.h"

namespace opreplay {

struct GraphRunRequest {
  Graph graph;
  std::string file;  ///< the archive that holds weights and sample inputs
  std::int64_t max_bytes = std::int64_t{4} << 30;  ///< of weights and of outputs, each
  bool statistics = true;
  bool operator==(const GraphRunRequest&) const = default;
};

/// What one tensor argument of one node really held. The numbers are over the finite elements (of
/// complex tensors: over real and imaginary parts); all zero if there are none.
struct TensorStats {
  std::string path;  ///< "self", "tensors.1"
  TensorDesc desc;
  std::int64_t elements = 0, finite = 0;
  double min = 0, max = 0, mean = 0, std = 0;
  /// All elements, row-major, of tensors of at most k_verbatim_elements: of integers and booleans
  /// always, of floating ones if some are not finite (masks). Never both.
  std::vector<std::int64_t> int_data;
  std::vector<double> data;
  bool operator==(const TensorStats&) const = default;
};
inline constexpr std::int64_t k_verbatim_elements = 1024;

struct NodeRun {
  std::int64_t node = 0;  ///< as in NodeCall
  std::vector<TensorStats> tensors;
  bool operator==(const NodeRun&) const = default;
};

/// A graph output: a tensor's elements row-major, or a number.
struct RunOutput {
  bool is_tensor = false;
  TensorDesc desc;  ///< of the tensor as it was; `bytes` are dense
  std::vector<std::byte> bytes;
  Value value;
  bool operator==(const RunOutput&) const = default;
};

struct GraphRun {
  std::vector<NodeRun> nodes;
  std::vector<RunOutput> outputs;
  /// Values whose geometry was not what the file says, one sentence each.
  std::vector<std::string> differences;
  std::string failure;  ///< where and why the run stopped; empty = ran to the end
  bool operator==(const GraphRun&) const = default;
};

std::vector<std::byte> encode(const GraphRunRequest& request);
std::vector<std::byte> encode(const GraphRun& run);
/// Throw Error{internal} on truncated or malformed bytes.
GraphRunRequest decode_graph_run_request(std::span<const std::byte> bytes);
GraphRun decode_graph_run(std::span<const std::byte> bytes);

}  // namespace opreplay
