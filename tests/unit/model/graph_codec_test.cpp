#include <catch2/catch.hpp>

#include "lib/base/graph_run.h"
#include "opreplay/error.h"

using namespace opreplay;

namespace {

Graph sample_graph() {
  Graph inner;
  inner.values.push_back({.name = "z", .desc = make_desc(DType::bf16, {2})});
  inner.inputs.push_back({.value = {Ref{0}}});
  inner.outputs.push_back({.value = {Ref{0}}});

  Graph graph;
  graph.values.push_back({.name = "x",
                          .desc = {DType::f32, {2, 3}, {1, 2}, 7, {}},
                          .requires_grad = true,
                          .symbolic = true,
                          .device = "cuda:1"});
  graph.values.push_back({.name = "n", .kind = ValueKind::sym_int, .hint = {std::int64_t{5}}});
  graph.values.push_back({.name = "odd", .problem = "layout sparse_coo"});
  graph.inputs.push_back({.kind = InputKind::parameter,
                          .target = "w",
                          .value = {Ref{0}},
                          .stored = StoredBytes{64, 24},
                          .desc = make_desc(DType::f32, {2, 3}),
                          .requires_grad = true});
  graph.inputs.push_back({.kind = InputKind::literal, .value = {std::string("abc")}});
  GraphNode& node = graph.nodes.emplace_back();
  node.target = "torch.ops.higher_order.cond";
  node.args = {{"", {List{{Ref{0}}, {None{}}, {std::complex<double>(1, -2)}}}, false},
               {"dtype", {Word{"f16"}}, true}};
  node.outputs = {{Ref{0}}, {List{{Ref{1}}}}, {None{}}};
  node.module = "layers.0";
  node.line = "model.py:3";
  node.problem = "kind 'as_operator'";
  node.graphs = {inner, inner};
  graph.outputs.push_back({OutputKind::mutation, {Ref{0}}, "running_mean"});
  graph.sample_inputs = StoredBytes{1000, 10};
  return graph;
}

}  // namespace

TEST_CASE("a graph survives its binary form") {
  const Graph graph = sample_graph();
  CHECK(decode_graph(encode(graph)) == graph);
  const GraphRunRequest request{graph, "/models/net.pt2", 1000, false};
  CHECK(decode_graph_run_request(encode(request)) == request);
  const GraphRun run{
      {{3, {{"self", make_desc(DType::i64, {2}), 2, 2, 1, 2, 1.5, 0.5, {1, 2}, {}}}}},
      {{true, make_desc(DType::u8, {1}), {std::byte{7}}, {}}, {false, {}, {}, {2.5}}},
      {"differs"},
      "node 3"};
  CHECK(decode_graph_run(encode(run)) == run);
}

TEST_CASE("a graph cut off anywhere is refused") {
  const auto bytes = encode(sample_graph());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    INFO("cut off at " << size);
    CHECK_THROWS_AS(decode_graph(std::span(bytes).first(size)), Error);
  }
}

TEST_CASE("references to values a graph does not have are refused") {
  for (const std::int32_t index : {-1, 3}) {
    Graph graph = sample_graph();
    graph.nodes[0].args[0].value = {List{{List{{Ref{index}}}}}};
    CHECK_THROWS_AS(decode_graph(encode(graph)), Error);
    graph = sample_graph();
    graph.nodes[0].graphs[1].outputs[0].value = {Ref{index == 3 ? 1 : index}};
    CHECK_THROWS_AS(decode_graph(encode(graph)), Error);
  }
}

TEST_CASE("nodes of subgraphs are counted") {
  Graph graph = sample_graph();
  CHECK(count_nodes(graph) == 1);
  graph.nodes[0].graphs[0].nodes.resize(3);
  graph.nodes[0].graphs[0].nodes[1].graphs = {sample_graph()};
  graph.nodes.emplace_back();
  CHECK(count_nodes(graph) == 6);
}
