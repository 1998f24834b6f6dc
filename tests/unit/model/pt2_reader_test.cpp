#include "lib/model/pt2_reader.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "tests/unit/model/pt2_fixture.h"

using namespace opreplay;
using namespace opreplay::test;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using Json = nlohmann::json;

namespace {

Pt2Model read_bytes(const std::string& bytes) {
  const TempFile file("net.pt2", bytes);
  return read_pt2(file.path());
}

Graph read_model(const Json& model) { return read_bytes(pt2_bytes(model)).graph; }

std::string read_refusal(const std::string& bytes) {
  const TempFile file("net.pt2", bytes);
  std::string message = refusal([&] { read_pt2(file.path()); });
  if (!message.empty()) CHECK_THAT(message, StartsWith(file.path().string() + ": "));
  return message;
}
std::string model_refusal(const Json& model) { return read_refusal(pt2_bytes(model)); }

const GraphValue& value_of(const Graph& graph, const Value& value) {
  const auto* ref = value.get<Ref>();
  REQUIRE(ref);
  return graph.values.at(static_cast<std::size_t>(ref->index));
}

}  // namespace

TEST_CASE("a small model is read as a flat graph") {
  const std::string bytes = pt2_bytes(small_model());
  const Pt2Model model = read_bytes(bytes);
  const Graph& graph = model.graph;
  REQUIRE(graph.nodes.size() == 1);
  const GraphNode& node = graph.nodes[0];
  CHECK(node.target == "torch.ops.aten.mm.default");
  CHECK(node.op == "aten.mm");
  CHECK(node.module == "fc");
  CHECK(node.line == "torch/nn/modules/linear.py:134");
  REQUIRE(node.args.size() == 2);
  CHECK(node.args[1].name == "mat2");
  CHECK(value_of(graph, node.args[1].value).name == "p_w");
  CHECK(value_of(graph, node.args[1].value).desc == make_desc(DType::f32, {3, 2}));
  CHECK(value_of(graph, node.outputs.at(0)).name == "y");

  REQUIRE(graph.inputs.size() == 2);
  CHECK(graph.inputs[0].kind == InputKind::parameter);
  CHECK(graph.inputs[0].target == "w");
  REQUIRE(graph.inputs[0].stored);
  CHECK(graph.inputs[0].stored->size == 24);
  // The fixture stores 24 times the letter w.
  CHECK(bytes.substr(graph.inputs[0].stored->offset, 24) == std::string(24, 'w'));
  CHECK(graph.inputs[1].kind == InputKind::user);
  REQUIRE(graph.outputs.size() == 1);
  CHECK(graph.outputs[0].kind == OutputKind::user);
  REQUIRE(graph.sample_inputs);
  CHECK(bytes.substr(graph.sample_inputs->offset, graph.sample_inputs->size) == "pickled");
  CHECK(model.source.model == "net.pt2");
  CHECK(model.source.torch == "2.13.0");
  CHECK_THAT(model.source.hash, StartsWith("xxh3:"));
}

TEST_CASE("every kind of argument is read") {
  Json model = small_model();
  part(model, "/graph_module/graph/sym_int_values") = Json::parse(R"({
      "s0": {"as_expr": {"expr_str": "s0", "hint": {"as_int": 4}}},
      "u0": {"as_expr": {"expr_str": "u0", "hint": null}}})");
  const Json tensors = {{{"name", "x"}}, {{"name", "p_w"}}};
  add_node(model, "torch.ops.lib.many.over", Json::parse(R"([
      {"name": "a", "arg": {"as_none": true}},
      {"name": "b", "arg": {"as_int": -2}, "kind": 2},
      {"name": "c", "arg": {"as_float": "-Infinity"}, "kind": 1},
      {"name": "d", "arg": {"as_bool": true}},
      {"name": "e", "arg": {"as_string": "mean"}},
      {"name": "f", "arg": {"as_complex": {"real": 1, "imag": "NaN"}}},
      {"name": "g", "arg": {"as_scalar_type": 13}},
      {"name": "h", "arg": {"as_layout": 7}},
      {"name": "i", "arg": {"as_memory_format": 2}},
      {"name": "j", "arg": {"as_device": {"type": "cuda", "index": 1}}},
      {"name": "k", "arg": {"as_ints": [1, 2]}},
      {"name": "l", "arg": {"as_floats": [1, 0.5]}},
      {"name": "m", "arg": {"as_sym_ints": [{"as_name": "s0"}, {"as_int": 3}]}},
      {"name": "n", "arg": {"as_optional_tensors": [{"as_none": true}, {"as_tensor": {"name": "x"}}]}},
      {"name": "o", "arg": {"as_int_lists": [[1], []]}},
      {"name": "p", "arg": {"as_sym_int": {"as_name": "u0"}}}
    ])"),
           {{{"as_tensors", tensors}}});
  const Graph graph = read_model(model);
  const GraphNode& node = graph.nodes.at(1);
  CHECK(node.op == "lib.many.over");
  CHECK(node.problem.empty());
  const auto arg = [&](std::size_t i) { return node.args.at(i).value; };
  CHECK(arg(0) == Value{None{}});
  CHECK(arg(1) == Value{std::int64_t{-2}});
  CHECK(node.args[1].keyword);
  CHECK_FALSE(node.args[2].keyword);
  CHECK(arg(2) == Value{-std::numeric_limits<double>::infinity()});
  CHECK(arg(3) == Value{true});
  CHECK(arg(4) == Value{std::string("mean")});
  CHECK(std::isnan(arg(5).get<std::complex<double>>()->imag()));
  CHECK(arg(6) == Value{Word{"bf16"}});
  CHECK(arg(7) == Value{Word{"strided"}});
  CHECK(arg(8) == Value{Word{"channels_last"}});
  CHECK(arg(9) == Value{Word{"cuda:1"}});
  CHECK(arg(10) == Value{List{{std::int64_t{1}}, {std::int64_t{2}}}});
  CHECK(arg(11) == Value{List{{1.0}, {0.5}}});
  REQUIRE(arg(12).get<List>());
  CHECK(value_of(graph, arg(12).get<List>()->at(0)).hint == Value{std::int64_t{4}});
  CHECK(arg(13).get<List>()->at(0).is_none());
  CHECK(value_of(graph, arg(13).get<List>()->at(1)).name == "x");
  CHECK(arg(14) == Value{List{{List{{std::int64_t{1}}}}, {List{}}}});
  CHECK(value_of(graph, arg(15)).hint.is_none());
  REQUIRE(node.outputs.at(0).get<List>());
  CHECK(value_of(graph, node.outputs[0].get<List>()->at(1)).name == "p_w");
}

TEST_CASE("what no call can express is kept as a problem, not refused") {
  Json model = small_model();
  add_tensor(model, "odd", {2}, 31);
  add_tensor(model, "sparse", {2});
  part(model, "/graph_module/graph/tensor_values/sparse/layout") = 1;
  add_tensor(model, "unknown", {2});
  part(model, "/graph_module/graph/tensor_values/unknown/sizes/0") =
      Json::parse(R"({"as_expr": {"expr_str": "u0", "hint": null}})");
  add_node(model, "torch.ops.lib.f.default",
           {argument("a", {{"as_operator", "torch.ops.aten.add"}})}, {});
  const Graph graph = read_model(model);
  CHECK(graph.nodes.at(1).problem == "kind 'as_operator'");
  std::map<std::string, std::string> problems;
  for (const GraphValue& value : graph.values) problems[value.name] = value.problem;
  CHECK(problems["odd"] == "dtype FLOAT8E4M3FNUZ");
  CHECK(problems["sparse"] == "layout sparse_coo");
  CHECK(problems["unknown"] == "a size that depends on data");
  CHECK(problems["x"].empty());
}

TEST_CASE("subgraphs are read with their own values") {
  Json model = small_model();
  Json inner = small_model()["graph_module"]["graph"];
  add_node(model, "torch.ops.higher_order.wrap_with_set_grad_enabled",
           {argument("", {{"as_bool", false}}),
            argument("", {{"as_graph", {{"name", "body"}, {"graph", inner}}}})},
           {tensor_argument("y")});
  const Graph graph = read_model(model);
  const GraphNode& node = graph.nodes.at(1);
  CHECK(node.op.empty());
  REQUIRE(node.graphs.size() == 1);
  CHECK(node.args[1].value == Value{Word{"graph:0"}});
  CHECK(node.graphs[0].nodes.at(0).op == "aten.mm");
  CHECK(node.graphs[0].values.size() == 3);
  CHECK(decode_graph(encode(graph)) == graph);

  for (int level = 0; level < 20; ++level) {
    Json outer = small_model();
    add_node(outer, "torch.ops.higher_order.f",
             {argument("", {{"as_graph", {{"name", "body"}, {"graph", inner}}}})}, {});
    inner = outer["graph_module"]["graph"];
  }
  model["graph_module"]["graph"] = inner;
  CHECK_THAT(model_refusal(model), Contains("graphs nested deeper than 16 levels"));
}

TEST_CASE("a wrong part of the graph is refused with its JSON path") {
  struct Edit {
    const char* pointer;
    const char* value;
    const char* expected;
  };
  const std::vector<Edit> edits = {
      {"/graph_module/graph/nodes/0/inputs/0", "3",
       "graph_module.graph.nodes[0].inputs[0]: expected an object, found an integer"},
      {"/graph_module/graph/nodes/0/inputs/0/name", "null", ".inputs[0].name: expected a string"},
      {"/graph_module/graph/nodes/0/inputs/0/arg", "{}",
       ".arg: expected an object with one member"},
      {"/graph_module/graph/nodes/0/inputs/0/arg", R"({"as_tensor": {"name": "zz"}})",
       "nodes[0].inputs[0].arg.as_tensor.name: expected the name of a value of this graph, found "
       "'zz'"},
      {"/graph_module/graph/nodes/0/inputs/0/arg", R"({"as_ints": [1, 2.5]})",
       ".as_ints[1]: expected an integer, found a number"},
      {"/graph_module/graph/nodes/0/inputs/0/arg", R"({"as_sym_int": {"as_name": "x"}})",
       "the value 'x' is of another kind"},
      {"/graph_module/graph/nodes/0/outputs/0", R"({"as_graph": 1})", "expected a constant"},
      {"/graph_module/graph/nodes/0/target", "[]",
       "nodes[0].target: expected a string, found an array"},
      {"/graph_module/graph/nodes/0/metadata", "7", "nodes[0].metadata: expected an object"},
      {"/graph_module/graph/nodes", "{}", "graph_module.graph.nodes: expected an array"},
      {"/graph_module/graph/tensor_values/x/dtype", "\"float\"",
       "tensor_values.x.dtype: expected an integer, found a string"},
      {"/graph_module/graph/tensor_values/x/sizes/1", R"({"as_int": -1})",
       "tensor_values.x.sizes[1]: expected a size >= 0, found -1"},
      {"/graph_module/graph/tensor_values/x/sizes/1", R"({"as_str": 1})",
       "expected 'as_int' or 'as_expr', found 'as_str'"},
      {"/graph_module/graph/tensor_values/x/sizes/1", R"({"as_int": 9223372036854775807})",
       "tensor_values.x.sizes: the tensor has more than 2^63 elements"},
      {"/graph_module/graph/tensor_values/x/strides", "[]",
       "tensor_values.x: expected as many strides as sizes, found 0 and 2"},
      {"/graph_module/graph/tensor_values/x/storage_offset", R"({"as_int": -4})",
       "tensor_values.x.storage_offset: expected an offset >= 0"},
      {"/graph_module/graph/tensor_values", "null",
       "tensor_values: expected an object, found null"},
      {"/graph_module/signature/input_specs/1", R"({"user_input": 1, "x": 2})", "input_specs[1]"},
      {"/graph_module/signature/input_specs", "[]", "expected 2 input specs"},
      {"/graph_module/signature/output_specs", "[{\"a\":1},{\"b\":1}]", "more output specs"},
      {"/schema_version/major", "9", "schema_version: expected schema version 8, found 9"},
      {"/graph_module", "[]", "graph_module: expected an object, found an array"},
      {"/schema_version", "{}", "schema_version: expected a member 'major', found none"},
  };
  for (const Edit& edit : edits) {
    INFO(edit.pointer << " = " << edit.value);
    Json model = small_model();
    model[Json::json_pointer(edit.pointer)] = Json::parse(edit.value);
    CHECK_THAT(model_refusal(model), Contains(edit.expected) && Contains(": models/model.json: "));
  }
}

TEST_CASE("a value name given twice is refused") {
  std::string text = small_model().dump();
  const std::string key = "\"p_w\":{\"device\"";
  const auto at = text.find(key);
  REQUIRE(at != std::string::npos);
  text.replace(at, 5, "\"x\"");
  CHECK_THAT(read_refusal(pt2_bytes(text)), Contains("two values of the graph have this name"));
}

TEST_CASE("weights must fit their bytes") {
  auto members = pt2_members(small_model().dump());
  members[0].data.resize(20);
  CHECK_THAT(read_refusal(zip_bytes(members)),
             Contains("data/weights/model_weights_config.json: config.w.tensor_meta: "
                      "expected 6 elements in the stored bytes, found 5"));
  members[0].data.clear();  // saved from fake tensors: stands for zeros
  CHECK(read_refusal(zip_bytes(members)).empty());
  members.erase(members.begin());
  CHECK_THAT(read_refusal(zip_bytes(members)),
             Contains("config.w.path_name: the archive has no entry 'data/weights/weight_0'"));
}

// Written by the torch that the file name says (tests/support/export_old_layout.py prints the
// operators that Python counts).
TEST_CASE("files of earlier torch versions are captured; their weights are pickled") {
  for (const char* name : {"torch-2.6", "torch-2.8"}) {
    INFO(name);
    const Pt2Model model =
        read_pt2(std::filesystem::path(OPREPLAY_TEST_DATA) / "pt2" / (std::string(name) + ".pt2"));
    std::vector<std::string> ops;
    for (const GraphNode& node : model.graph.nodes) ops.push_back(node.op);
    CHECK(ops == std::vector<std::string>{"aten.linear", "aten.relu", "aten.add.Tensor",
                                          "aten.mul.Tensor", "aten.softmax.int",
                                          "aten.sum.dim_IntList"});
    REQUIRE(model.graph.inputs.size() == 4);
    CHECK(model.graph.inputs[0].target == "fc.weight");
    CHECK_THAT(model.graph.inputs[0].problem, Contains("pickled"));
    CHECK(model.graph.inputs[3].kind == InputKind::user);
    CHECK(model.graph.sample_inputs.has_value());
    const GraphValue& x =
        model.graph.values[static_cast<std::size_t>(model.graph.inputs[3].value.get<Ref>()->index)];
    CHECK(x.desc.sizes == std::vector<std::int64_t>{5, 3});
    CHECK(x.symbolic);
  }
}

TEST_CASE("other layouts are told apart and refused with what to do") {
  const auto holding = [](const std::string& name) {
    return read_refusal(zip_bytes({{.name = name, .data = "{}"}}));
  };
  CHECK_THAT(holding("m/data/aotinductor/model/a.so"), Contains("AOTInductor"));
  CHECK_THAT(holding("m/constants.pkl"), Contains("TorchScript"));
  CHECK_THAT(holding("m/data.pkl"), Contains("torch.save"));
  CHECK_THAT(holding("readme.txt"), Contains("without models/*.json"));
  auto members = pt2_members(small_model().dump());
  members.back() = {.name = "net/models/second.json", .data = "{}"};
  CHECK_THAT(read_refusal(zip_bytes(members)), Contains("expected one model, found 2"));
}

TEST_CASE("damage to the file is an error with file and place, never a crash") {
  // Seeded, so that a failure can be repeated. What changes is chosen by the generator's bits only:
  // distributions differ between libraries.
  std::mt19937 random(20240229);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  const std::string model = small_model().dump();
  const std::string archive = pt2_bytes(model);
  const Graph intact = read_bytes(archive).graph;

  SECTION("a file cut off anywhere") {
    for (int i = 0; i < 60; ++i) {
      const std::size_t size = below(archive.size());
      INFO("cut off at " << size);
      CHECK_FALSE(read_refusal(archive.substr(0, size)).empty());
    }
  }
  SECTION("a byte of the graph's JSON flipped is found by its checksum") {
    const std::size_t begin = archive.find(model);
    REQUIRE(begin != std::string::npos);
    for (int i = 0; i < 100; ++i) {
      std::string damaged = archive;
      const std::size_t at = begin + below(model.size());
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << below(8)));
      INFO("byte " << at);
      CHECK_THAT(read_refusal(damaged), Contains("models/model.json: "));
    }
  }
  SECTION("a byte of the directory flipped") {
    const std::size_t begin = archive.find("PK\x01\x02");
    REQUIRE(begin != std::string::npos);
    int refused = 0;
    for (int i = 0; i < 400; ++i) {
      std::string damaged = archive;
      const std::size_t at = begin + below(archive.size() - begin);
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << below(8)));
      INFO("byte " << at);
      // Fields nobody needs (dates, versions, attributes) may change; the graph may not.
      const TempFile file("net.pt2", damaged);
      Graph graph;
      const std::string message = refusal([&] { graph = read_pt2(file.path()).graph; });
      if (message.empty()) {
        CHECK(graph.nodes == intact.nodes);
      } else {
        ++refused;
        CHECK_THAT(message, StartsWith(file.path().string() + ": "));
      }
    }
    CHECK(refused > 100);
  }
  SECTION("JSON changed under a right checksum") {
    int refused = 0;
    for (int i = 0; i < 400; ++i) {
      std::string text = model;
      for (std::size_t n = 1 + below(3); n > 0; --n) {
        const std::size_t at = below(text.size());
        switch (below(4)) {
          case 0:
            text.erase(at, 1 + below(20));
            break;
          case 1:
            text.insert(at, text.substr(below(text.size()), 1 + below(40)));
            break;
          case 2:
            text[at] = "{}[]\",:0-e"[below(10)];
            break;
          default:
            text[at] = static_cast<char>(random());
            break;
        }
      }
      INFO(text);
      refused += !read_refusal(pt2_bytes(text)).empty();
    }
    CHECK(refused > 300);
  }
  SECTION("nesting and sizes beyond reason") {
    CHECK_THAT(read_refusal(pt2_bytes(std::string(10'000'000, '['))), Contains("nested deeper"));
    std::string list = "[";
    for (int i = 0; i < 1'000'000; ++i) list += "0,";
    list += "0]";
    Json wide = small_model();
    part(wide, "/graph_module/graph/nodes/0/inputs/0/arg") = {{"as_ints", "LIST"}};
    std::string text = wide.dump();
    text.replace(text.find("\"LIST\""), 6, list);
    CHECK_THAT(read_refusal(pt2_bytes(text)), Contains("too large to be read in bounded memory"));
    auto members = pt2_members(model);
    members[3].size = members[3].stored = 0xfffffffe;
    CHECK_THAT(read_refusal(zip_bytes(members)),
               Contains("entry 'net/models/model.json': 4294967294 bytes at offset"));
  }
}
