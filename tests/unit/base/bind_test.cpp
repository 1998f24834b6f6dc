#include "lib/base/bind.h"

#include <catch2/catch.hpp>

#include "opreplay/case.h"
#include "tests/unit/base/message.h"

using namespace opreplay;

namespace {

Arg number(std::int64_t value, std::string name = {}) { return {std::move(name), {value}, false}; }

Arg tensor(std::vector<std::int64_t> sizes, std::string name = {}) {
  TensorArg arg;
  arg.desc = make_desc(DType::f32, std::move(sizes));
  return {std::move(name), {arg}, false};
}

std::string bound(std::string_view schema, std::vector<Arg> args) {
  OpCall call{"", std::move(args)};
  bind(call, parse_schema(schema));
  return to_string(call);
}

}  // namespace

TEST_CASE("bind keeps what captures say of a tensor") {
  Arg arg = tensor({2});
  arg.value.get<TensorArg>()->requires_grad = true;
  arg.value.get<TensorArg>()->dims = {"b"};
  OpCall call{"", {arg}};
  bind(call, parse_schema("aten::relu(Tensor self) -> Tensor"));
  CHECK(call.op == "aten.relu");
  CHECK(call.args[0].name == "self");
  CHECK(call.args[0].value.get<TensorArg>()->requires_grad);
  CHECK(call.args[0].value.get<TensorArg>()->dims == std::vector<std::string>{"b"});
}

TEST_CASE("bind marks keyword-only arguments and orders them") {
  const auto text = bound("f(Tensor a, *, int x=1, int y, int z=3) -> ()",
                          {tensor({1}), number(3, "z"), number(5, "y"), number(2, "x")});
  CHECK(text == "aten.f(f32[1], x=2, y=5)");
}

TEST_CASE("bind fills gaps and drops trailing defaults") {
  const char* schema = "f(Tensor a, int[2] x=0, float y=1., str z=\"m\") -> ()";
  CHECK(bound(schema, {tensor({1})}) == "aten.f(f32[1])");
  CHECK(bound(schema, {tensor({1}), number(7)}) == "aten.f(f32[1], [7, 7])");
  CHECK(bound(schema, {tensor({1}), number(0), number(1)}) == "aten.f(f32[1])");
  CHECK(bound(schema, {tensor({1}), number(0), number(2)}) == "aten.f(f32[1], [0, 0], 2.0)");
  CHECK(bound(schema, {tensor({1}), {"z", {std::string("n")}, false}}) ==
        "aten.f(f32[1], [0, 0], 1.0, \"n\")");
}

TEST_CASE("a negative zero is no default zero") {
  const char* schema = "f(float x=0.) -> ()";
  CHECK(bound(schema, {{"", {0.0}, false}}) == "aten.f()");
  CHECK(bound(schema, {{"", {-0.0}, false}}) == "aten.f(-0.0)");
}

TEST_CASE("numbers take the kind of their argument") {
  CHECK(bound("f(float[] x, complex y, Scalar z) -> ()",
              {{"", {List{{std::int64_t{1}}, {2.5}}}, false}, number(2), number(3)}) ==
        "aten.f([1.0, 2.5], (2+0j), 3)");
  CHECK(bound("f(Tensor x, Tensor? y, Tensor?[] z) -> ()",
              {number(2), {"", {None{}}, false}, {"", {List{{None{}}}}, false}}) ==
        "aten.f(2, null, [null])");
}

TEST_CASE("a reference of a graph fits everywhere") {
  CHECK(bound("f(Tensor x, int[2] y, Tensor[] z) -> ()",
              {{"", {Ref{4}}, false}, {"", {Ref{5}}, false}, {"", {List{{Ref{6}}}}, false}}) ==
        "aten.f(%4, %5, [%6])");
}

// A schema of torch 2.13 that has one name twice: what is printed must bind again.
TEST_CASE("static_runtime.clamp_nan_to_num binds") {
  const Schema schema = parse_schema(
      "static_runtime::clamp_nan_to_num(Tensor input, Scalar? min, Scalar? max, float? nan, "
      "float? posinf, float? posinf) -> Tensor");
  OpCall call{"", {tensor({1}), number(1), number(2), number(3), number(4), number(5)}};
  bind(call, schema);
  CHECK(to_string(call) == "static_runtime.clamp_nan_to_num(f32[1], 1, 2, 3.0, 4.0, 5.0)");
  bind(call, schema);
  CHECK(to_string(call) == "static_runtime.clamp_nan_to_num(f32[1], 1, 2, 3.0, 4.0, 5.0)");
}

TEST_CASE("bind says which argument is wrong") {
  const Schema schema = parse_schema("f(Tensor a, int b, *, Device? c=None) -> ()");
  const auto problem = [&](std::vector<Arg> args) {
    OpCall call{"", std::move(args)};
    return try_bind(call, schema);
  };
  const auto ill_typed = problem({tensor({1}), {"", {true}, false}});
  REQUIRE(ill_typed);
  CHECK(ill_typed->argument == std::size_t{1});
  CHECK(ill_typed->message == "aten.f: argument 'b': expected int, found \"true\"");
  const auto missing = problem({tensor({1})});
  REQUIRE(missing);
  CHECK_FALSE(missing->argument);
  CHECK(missing->message == "aten.f: argument 'b' (int) is missing");
  const auto keyword = problem({tensor({1}), number(1), {"", {Word{"cpu"}}, false}});
  REQUIRE(keyword);
  CHECK(keyword->argument == std::size_t{2});
  const auto device = problem({tensor({1}), number(1), {"c", {Word{"cuda:x"}}, false}});
  REQUIRE(device);
  CHECK(device->message == "aten.f: argument 'c': expected Device?, found \"cuda:x\"");
  CHECK_FALSE(problem({tensor({1}), number(1), {"c", {Word{"my_chip:3"}}, false}}));
}
