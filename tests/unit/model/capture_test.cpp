#include "lib/model/capture.h"

#include <catch2/catch.hpp>
#include <map>

#include "opreplay/case.h"
#include "tests/unit/model/pt2_fixture.h"

using namespace opreplay;
using namespace opreplay::test;
using Json = nlohmann::json;

namespace {

// Lines of the table as torch 2.13 prints them.
const SchemaTable& schemas() {
  static const SchemaTable table(
      "aten::mm(Tensor self, Tensor mat2) -> Tensor\n"
      "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor\n"
      "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)\n"
      "aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)\n"
      "aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)\n"
      "aten::t(Tensor(a) self) -> Tensor(a)\n"
      "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor\n"
      "aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
      "Device? device=None, bool? pin_memory=None) -> Tensor\n"
      "aten::sym_size.int(Tensor self, int dim) -> SymInt\n"
      "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]\n");
  return table;
}

CaptureResult capture_model(const Json& model) {
  const TempFile file("net.pt2", pt2_bytes(model));
  return capture_file(file.path(), {.schemas = &schemas()});
}

/// "2 aten.mm(...)" for every call.
std::vector<std::string> calls(const CaptureResult& result) {
  std::vector<std::string> texts;
  for (const OpSpec& spec : result.specs)
    for (const SpecCall& call : spec.calls)
      texts.push_back(std::to_string(call.count) + " " + to_string(call.call));
  return texts;
}

std::map<std::string, std::int64_t> refusals(const CaptureResult& result) {
  std::map<std::string, std::int64_t> texts;
  for (const NotCaptured& refused : result.not_captured)
    texts[refused.target + ": " + refused.reason] = refused.count;
  return texts;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("equal calls are merged with their count and places") {
  Json model = small_model();
  for (int i = 0; i < 5; ++i) {
    add_node(model, "torch.ops.aten.mm.default",
             {argument("self", tensor_argument("x")), argument("mat2", tensor_argument("p_w"))},
             {tensor_argument("y")});
  }
  const CaptureResult result = capture_model(model);
  CHECK(calls(result) == Lines{"6 aten.mm(f32[2,3], f32[3,2])"});
  REQUIRE(result.specs.size() == 1);
  const OpSpec& spec = result.specs[0];
  CHECK(spec.op == "aten.mm");
  CHECK(spec.schema == "mm(Tensor self, Tensor mat2) -> Tensor");
  CHECK(spec.source.model == "net.pt2");
  CHECK(spec.source.capture == "static");
  const SpecCall& call = spec.calls[0];
  CHECK(call.at == std::vector<CallSite>(4, {"fc", "torch/nn/modules/linear.py:134"}));
  CHECK(call.results == std::vector{make_desc(DType::f32, {2, 2})});
  CHECK_FALSE(find_arg(call.call, "self")->get<TensorArg>()->parameter);
  CHECK(find_arg(call.call, "mat2")->get<TensorArg>()->parameter);
  CHECK(result.nodes == 6);
  CHECK(result.captured == std::vector<CapturedTarget>{{"torch.ops.aten.mm.default", 6}});
  CHECK(result.node_calls.size() == 6);
  CHECK(result.node_calls[5] == NodeCall{5, 0, 0});
}

TEST_CASE("arguments keep their kind, defaults are dropped") {
  Json model = small_model();
  const auto mul = [&](Json other) {
    add_node(model, "torch.ops.aten.mul.Tensor",
             {argument("self", tensor_argument("y")), argument("other", std::move(other))},
             {tensor_argument("y")});
  };
  mul({{"as_int", 2}});
  mul({{"as_float", 2.0}});
  mul({{"as_float", "Infinity"}});
  mul({{"as_complex", {{"real", 0}, {"imag", 1}}}});
  add_node(model, "torch.ops.aten.zeros.default",
           {argument("size", {{"as_ints", {2, 3}}}), argument("dtype", {{"as_scalar_type", 6}}, 2),
            argument("layout", {{"as_none", true}}, 2),
            argument("device", {{"as_device", {{"type", "cpu"}, {"index", nullptr}}}}, 2)},
           {tensor_argument("x")});
  CHECK(calls(capture_model(model)) == Lines{
                                           "1 aten.mm(f32[2,3], f32[3,2])",
                                           "1 aten.mul.Tensor(f32[2,2], 2)",
                                           "1 aten.mul.Tensor(f32[2,2], 2.0)",
                                           "1 aten.mul.Tensor(f32[2,2], inf)",
                                           "1 aten.mul.Tensor(f32[2,2], (0+1j))",
                                           "1 aten.zeros([2, 3], dtype=f16, device=cpu)",
                                       });
}

TEST_CASE("arguments that share a storage carry one label") {
  Json model = small_model();
  const auto unary = [&](const char* target, const char* from, const char* to,
                         std::vector<Json> inputs) {
    inputs.insert(inputs.begin(), argument("self", tensor_argument(from)));
    add_node(model, target, inputs, {tensor_argument(to)});
  };
  const auto add = [&](const char* a, const char* b) {
    add_node(model, "torch.ops.aten.add_.Tensor",
             {argument("self", tensor_argument(a)), argument("other", tensor_argument(b))},
             {tensor_argument(a)});
  };
  const auto last = [&] {
    const CaptureResult result = capture_model(model);
    const NodeCall& node = result.node_calls.back();
    return result.specs[node.spec].calls[node.call].call;
  };
  add("y", "y");
  CHECK(to_string(last()) == "aten.add_.Tensor(f32[2,2]&a, f32[2,2]&a)");

  // Two rows of y: views of one storage, by the schema's alias marks.
  add_tensor(model, "r0", {2});
  add_tensor(model, "r1", {2});
  part(model, "/graph_module/graph/tensor_values/r1/storage_offset") = {{"as_int", 2}};
  const std::vector<Json> dim = {argument("dim", {{"as_int", 0}}),
                                 argument("index", {{"as_int", 0}})};
  unary("torch.ops.aten.select.int", "y", "r0", dim);
  unary("torch.ops.aten.select.int", "y", "r1", dim);
  add("r0", "r1");
  CHECK(to_string(last()) == "aten.add_.Tensor(f32[2]&a, f32[2+2]&a)");

  // A clone does not share.
  add_tensor(model, "c", {2});
  unary("torch.ops.aten.clone.default", "r0", "c", {});
  add("c", "r0");
  CHECK(to_string(last()) == "aten.add_.Tensor(f32[2], f32[2])");

  // reshape of a contiguous tensor is a view, of a transposed one a view or a copy: from equal
  // offsets and row-major strides nobody can tell which.
  add_tensor(model, "flat", {4});
  const std::vector<Json> shape = {argument("shape", {{"as_ints", {4}}})};
  unary("torch.ops.aten.reshape.default", "y", "flat", shape);
  add("flat", "flat");
  CHECK(to_string(last()) == "aten.add_.Tensor(f32[4]&a, f32[4]&a)");
  add_tensor(model, "y_t", {2, 2});
  part(model, "/graph_module/graph/tensor_values/y_t/strides") = {{{"as_int", 1}}, {{"as_int", 2}}};
  add_tensor(model, "flat_t", {4});
  unary("torch.ops.aten.t.default", "y", "y_t", {});
  add("y_t", "y");
  CHECK(to_string(last()) == "aten.add_.Tensor(f32[2,2;1,2]&a, f32[2,2]&a)");
  unary("torch.ops.aten.reshape.default", "y_t", "flat_t", shape);
  add("flat_t", "flat");
  const OpCall unknown = last();
  CHECK(to_string(unknown) == "aten.add_.Tensor(f32[4], f32[4])");
  CHECK(find_arg(unknown, "self")->get<TensorArg>()->storage_unknown);
  CHECK(find_arg(unknown, "other")->get<TensorArg>()->storage_unknown);

  // A list of views.
  add_tensor(model, "s0", {1, 2});
  add_tensor(model, "s1", {1, 2});
  add_node(model, "torch.ops.aten.split.Tensor",
           {argument("self", tensor_argument("y")), argument("split_size", {{"as_int", 1}})},
           {{{"as_tensors", {{{"name", "s0"}}, {{"name", "s1"}}}}}});
  add("s0", "s1");
  CHECK(to_string(last()) == "aten.add_.Tensor(f32[1,2]&a, f32[1,2]&a)");
}

TEST_CASE("tied weights share a storage") {
  Json model = small_model();
  add_tensor(model, "p_v", {3, 2});
  part(model, "/graph_module/graph/inputs")
      .insert(part(model, "/graph_module/graph/inputs").begin(), tensor_argument("p_v"));
  auto& specs = part(model, "/graph_module/signature/input_specs");
  specs.insert(specs.begin(),
               Json{{"parameter", {{"arg", {{"name", "p_v"}}}, {"parameter_name", "w"}}}});
  add_node(model, "torch.ops.aten.mul.Tensor",
           {argument("self", tensor_argument("p_v")), argument("other", tensor_argument("p_w"))},
           {tensor_argument("x")});
  CHECK(calls(capture_model(model)).back() == "1 aten.mul.Tensor(f32[3,2]&a, f32[3,2]&a)");
}

TEST_CASE("every node that is no call is listed with its reason") {
  Json model = small_model();
  part(model, "/graph_module/graph/sym_int_values") = Json::parse(R"({
      "n": {"as_expr": {"expr_str": "s0", "hint": {"as_int": 2}}},
      "u": {"as_expr": {"expr_str": "u0", "hint": null}}})");
  part(model, "/graph_module/graph/tensor_values/y/sizes/0") =
      Json::parse(R"({"as_expr": {"expr_str": "s0", "hint": {"as_int": 2}}})");
  add_tensor(model, "odd", {2, 3}, 31);
  const auto zeros = [&](const char* symbol) {
    add_node(model, "torch.ops.aten.zeros.default",
             {argument("size", {{"as_sym_ints", {{{"as_name", symbol}}, {{"as_int", 3}}}}})},
             {tensor_argument("x")});
  };
  const auto mm = [&](const char* name, const char* target = "torch.ops.aten.mm.default") {
    add_node(model, target,
             {argument(name, tensor_argument("x")), argument("mat2", tensor_argument("odd"))},
             {tensor_argument("y")});
  };
  zeros("n");
  zeros("u");
  zeros("u");
  add_node(model, "torch.ops.aten.sym_size.int",
           {argument("self", tensor_argument("y")), argument("dim", {{"as_int", 0}})},
           {{{"as_sym_int", {{"as_name", "n"}}}}});
  add_node(model, "_operator.ge",
           {argument("a", {{"as_sym_int", {{"as_name", "n"}}}}), argument("b", {{"as_int", 0}})},
           {});
  mm("self");
  mm("self", "torch.ops.lib.mm.default");
  add_node(model, "torch.ops.aten.mm.default", {argument("wrong", tensor_argument("x"))},
           {tensor_argument("y")});
  add_node(model, "torch._functorch.predispatch._add_batch_dim", {}, {});
  std::vector<Json> autocast = {argument("", {{"as_string", "cpu"}})};
  autocast.push_back(argument(
      "", {{"as_graph", {{"name", "g"}, {"graph", small_model()["graph_module"]["graph"]}}}}));
  add_node(model, "torch.ops.higher_order.wrap_with_autocast", autocast, {tensor_argument("y")});
  add_node(model, "torch.ops.higher_order.cond", {autocast[1]}, {tensor_argument("y")});

  const CaptureResult result = capture_model(model);
  CHECK(calls(result) == Lines{"2 aten.mm(f32[2,3], f32[3,2])", "1 aten.mm(bf16[2,3], bf16[3,2])",
                               "1 aten.zeros([2, 3])"});
  auto listed = refusals(result);
  CHECK(listed["torch.ops.aten.zeros.default: an argument is a number that depends on data"] == 2);
  CHECK(listed["torch.ops.aten.sym_size.int: no tensor among its results"] == 1);
  CHECK(listed["_operator.ge: arithmetic on symbolic sizes"] == 1);
  CHECK(listed["torch.ops.aten.mm.default: an argument has dtype FLOAT8E4M3FNUZ"] == 1);
  CHECK(listed["torch.ops.lib.mm.default: needs the library that defines 'lib'"] == 1);
  CHECK(listed["torch._functorch.predispatch._add_batch_dim: "
               "a Python function, not an operator"] == 1);
  CHECK(listed["torch.ops.higher_order.cond: "
               "a higher-order operator; the nodes of its body are counted apart"] == 1);
  CHECK(std::count_if(listed.begin(), listed.end(), [](const auto& entry) {
          return entry.first.find("aten.mm.default: does not fit its schema: ") !=
                 std::string::npos;
        }) == 1);
  std::int64_t sum = 0;
  for (const NotCaptured& refused : result.not_captured) sum += refused.count;
  for (const CapturedTarget& captured : result.captured) sum += captured.count;
  CHECK(sum == result.nodes);
  CHECK(result.nodes == 14);  // 12 of the graph, one in each of the two bodies
}

TEST_CASE("operands that stay on the CPU are marked") {
  Json model = small_model();
  add_tensor(model, "scalar", {});
  for (const char* name : {"x", "p_w", "y"})
    model["graph_module"]["graph"]["tensor_values"][name]["device"] = {{"type", "cuda"},
                                                                       {"index", 0}};
  add_node(model, "torch.ops.aten.mul.Tensor",
           {argument("self", tensor_argument("x")), argument("other", tensor_argument("scalar"))},
           {tensor_argument("x")});
  const CaptureResult result = capture_model(model);
  const OpCall& call = result.specs.at(1).calls.at(0).call;
  CHECK_FALSE(find_arg(call, "self")->get<TensorArg>()->on_cpu);
  CHECK(find_arg(call, "other")->get<TensorArg>()->on_cpu);
}
