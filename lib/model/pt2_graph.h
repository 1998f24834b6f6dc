#pragma once
/// The JSON of a graph to our flat table. Part of lib/model/pt2_reader.h.

#include <cstddef>
#include <string>

#include "lib/base/graph.h"
#include "lib/model/json_doc.h"

namespace opreplay {

/// Memory a graph may take; spent before allocation. Keeps a hostile file, in which a two-byte
/// number becomes a value of hundreds of bytes, from exhausting the machine.
class GraphBudget {
 public:
  explicit GraphBudget(std::size_t bytes) : left_(bytes) {}
  /// Throws Error{invalid_input} at `where` if the graph does not fit.
  void spend(std::size_t bytes, const Json& where);

 private:
  std::size_t left_;
};

/// A tensor's geometry in a file; see GraphValue for the members.
struct TensorMeta {
  TensorDesc desc;
  bool requires_grad = false;
  bool symbolic = false;
  std::string device;
  std::string problem;
};
TensorMeta read_tensor_meta(const Json& meta);

/// Reads a graph with its subgraphs. `inputs` hold values only (kind user): what each is for stands
/// in the signature. Throws Error{invalid_input} with the JSON path of the problem.
Graph read_graph(const Json& graph, GraphBudget& budget);

/// The only member of an `Argument` union as a constant or none; Refs need a graph, see read_graph.
Value read_constant(const Json& argument);

}  // namespace opreplay
