#pragma once
/// A model's graph as a flat table: what a .pt2 file says of it, and what the worker gets to run
/// it. Torch-free. Made by lib/model/pt2_reader.h; static capture turns it into op-specs
/// (lib/model/capture.cpp), the interpreter (lib/torch/interpreter.h) executes it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "opreplay/call.h"

namespace opreplay {

enum class ValueKind : std::uint8_t { tensor, sym_int, sym_float, sym_bool, object };

/// A value of the graph: a tensor's geometry as the exporter saw it, or a symbol.
struct GraphValue {
  std::string name;
  ValueKind kind = ValueKind::tensor;
  TensorDesc desc;  ///< tensors; symbolic sizes by their hints
  bool requires_grad = false;
  bool symbolic = false;  ///< some of the geometry is a symbol: real runs may differ from the hints
  std::string device;     ///< "cpu", "cuda:0"
  Value hint;             ///< symbols: the number seen at export; none = known only when run
  std::string problem;    ///< why no call can name it ("sparse layout"); empty = fine
  bool operator==(const GraphValue&) const = default;
};

struct Graph;

/// One node. Arguments that are computed elsewhere are `Ref`s to values; a subgraph is the word
/// "graph:N", N an index in `graphs`.
struct GraphNode {
  std::string target;  ///< as in the file: "torch.ops.aten.linear.default", "_operator.ge"
  std::string op;      ///< "aten.linear"; empty if the target is no operator of the dispatcher
  std::vector<Arg> args;
  std::vector<Value> outputs;  ///< Ref, a List of Refs, or none
  std::string module, line;    ///< where the model makes the call
  std::string problem;         ///< an argument that cannot be expressed; empty = fine
  std::vector<Graph> graphs;   ///< of higher-order operators
  bool operator==(const GraphNode&) const;
};

enum class InputKind : std::uint8_t {
  parameter,
  buffer,
  tensor_constant,
  user,     ///< takes the next leaf of the sample inputs
  literal,  ///< a constant the model was exported with; takes a leaf too
  other,    ///< custom objects, effect tokens
};

/// Raw bytes of a storage inside the model file.
struct StoredBytes {
  std::uint64_t offset = 0, size = 0;
  bool operator==(const StoredBytes&) const = default;
};

struct GraphInput {
  InputKind kind = InputKind::user;
  std::string target;  ///< "layers.0.weight", "x"
  Value value;         ///< Ref, or the constant of a literal
  /// Parameters, buffers, constants: inputs with the same bytes share one storage. A size of 0 for
  /// a tensor with elements means that the file was saved without weights (zeros then).
  std::optional<StoredBytes> stored;
  TensorDesc desc;  ///< geometry inside the stored bytes
  bool requires_grad = false;
  std::string problem;  ///< why the stored tensor cannot be rebuilt; empty = fine
  bool operator==(const GraphInput&) const = default;
};

enum class OutputKind : std::uint8_t { user, mutation, loss, gradient, other };

struct GraphOutput {
  OutputKind kind = OutputKind::user;
  Value value;         ///< Ref or a constant
  std::string target;  ///< the mutated buffer, the parameter of a gradient
  bool operator==(const GraphOutput&) const = default;
};

struct Graph {
  std::vector<GraphValue> values;
  std::vector<GraphInput> inputs;
  std::vector<GraphNode> nodes;
  std::vector<GraphOutput> outputs;
  std::optional<StoredBytes> sample_inputs;  ///< torch.save of (args, kwargs)
  bool operator==(const Graph&) const = default;
};

inline bool GraphNode::operator==(const GraphNode& other) const {
  return target == other.target && op == other.op && args == other.args &&
         outputs == other.outputs && module == other.module && line == other.line &&
         problem == other.problem && graphs == other.graphs;
}

/// Nodes of the graph and of all subgraphs. A node's number counts nodes in file order, those of
/// its subgraphs right after it.
std::int64_t count_nodes(const Graph& graph);

std::vector<std::byte> encode(const Graph& graph);
/// Throws Error{internal} on truncated or malformed bytes and on Refs that name no value.
Graph decode_graph(std::span<const std::byte> bytes);

}  // namespace opreplay
