#include "lib/base/call_codec.h"
#include "lib/base/graph.h"
#include "lib/base/graph_run.h"

namespace opreplay {

template <MaybeConst<GraphValue> T>
auto members(T& t) {
  return std::tie(t.name, t.kind, t.desc, t.requires_grad, t.symbolic, t.device, t.hint, t.problem);
}

template <MaybeConst<StoredBytes> T>
auto members(T& t) {
  return std::tie(t.offset, t.size);
}

template <MaybeConst<GraphInput> T>
auto members(T& t) {
  return std::tie(t.kind, t.target, t.value, t.stored, t.desc, t.requires_grad, t.problem);
}

template <MaybeConst<GraphOutput> T>
auto members(T& t) {
  return std::tie(t.kind, t.value, t.target);
}

// Graphs and nodes hold each other.
template <MaybeConst<Graph> T>
auto members(T& t) {
  return std::tie(t.values, t.inputs, t.nodes, t.outputs, t.sample_inputs);
}

template <MaybeConst<GraphNode> T>
auto members(T& t) {
  return std::tie(t.target, t.op, t.args, t.outputs, t.module, t.line, t.problem, t.graphs);
}

template <MaybeConst<GraphRunRequest> T>
auto members(T& t) {
  return std::tie(t.graph, t.file, t.max_bytes, t.statistics);
}

template <MaybeConst<TensorStats> T>
auto members(T& t) {
  return std::tie(t.path, t.desc, t.elements, t.finite, t.min, t.max, t.mean, t.std, t.int_data,
                  t.data);
}

template <MaybeConst<NodeRun> T>
auto members(T& t) {
  return std::tie(t.node, t.tensors);
}

template <MaybeConst<RunOutput> T>
auto members(T& t) {
  return std::tie(t.is_tensor, t.desc, t.bytes, t.value);
}

template <MaybeConst<GraphRun> T>
auto members(T& t) {
  return std::tie(t.nodes, t.outputs, t.differences, t.failure);
}

namespace {

/// Refs are indices the interpreter uses unchecked, so they are checked here, once.
void check_refs(const Value& value, std::size_t values) {
  if (const auto* ref = value.get<Ref>()) {
    if (ref->index < 0 || static_cast<std::size_t>(ref->index) >= values)
      throw Error(ExitCode::internal,
                  "malformed worker message: a graph names no value of its own");
  } else if (const auto* list = value.get<List>()) {
    for (const Value& item : *list) check_refs(item, values);
  }
}

void check_refs(const Graph& graph) {
  const std::size_t n = graph.values.size();
  for (const GraphInput& input : graph.inputs) check_refs(input.value, n);
  for (const GraphOutput& output : graph.outputs) check_refs(output.value, n);
  for (const GraphNode& node : graph.nodes) {
    for (const Arg& arg : node.args) check_refs(arg.value, n);
    for (const Value& output : node.outputs) check_refs(output, n);
    for (const Graph& inner : node.graphs) check_refs(inner);
  }
}

}  // namespace

std::vector<std::byte> encode(const Graph& graph) { return encode_bytes(graph); }
std::vector<std::byte> encode(const GraphRunRequest& request) { return encode_bytes(request); }
std::vector<std::byte> encode(const GraphRun& run) { return encode_bytes(run); }

Graph decode_graph(std::span<const std::byte> bytes) {
  auto graph = decode_bytes<Graph>(bytes);
  check_refs(graph);
  return graph;
}

GraphRunRequest decode_graph_run_request(std::span<const std::byte> bytes) {
  auto request = decode_bytes<GraphRunRequest>(bytes);
  check_refs(request.graph);
  return request;
}

GraphRun decode_graph_run(std::span<const std::byte> bytes) {
  return decode_bytes<GraphRun>(bytes);
}

std::int64_t count_nodes(const Graph& graph) {
  auto count = static_cast<std::int64_t>(graph.nodes.size());
  for (const GraphNode& node : graph.nodes)
    for (const Graph& inner : node.graphs) count += count_nodes(inner);
  return count;
}

}  // namespace opreplay
