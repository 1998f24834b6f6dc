#include "lib/judge/objects.h"

#include <catch2/catch.hpp>

using namespace opreplay;

namespace {
JudgedCase judged(const std::string& text, Status status, Reason reason = Reason::none) {
  JudgedCase c;
  c.case_text = text;
  c.call_id = "00";
  c.op = text.substr(0, text.find('('));
  c.module = "layers.0";
  c.workload = variations_of(text).empty();
  c.status = status;
  c.reason = reason;
  return c;
}
using Words = std::vector<std::string>;
}  // namespace

TEST_CASE("variations stand behind the last call") {
  // The examples of docs/spec-format.md.
  CHECK(variations_of("aten.softmax.int(f16[2,4,16,16], -1)").empty());
  CHECK(variations_of("aten.clamp(f32[2,3,4,5], 0.0, 1.0) values.nan@first fwd") ==
        Words{"values.nan"});
  CHECK(variations_of("aten.add.Tensor(f32[4], f32[4]) values.nan@first:self+layout.step bwd") ==
        Words{"values.nan", "layout.step"});
  CHECK(variations_of("aten.relu(f32[4]) -> aten.neg(f32[4]) bwd seed=3").empty());
  CHECK(variations_of("aten.relu(f32[4]) seed=3 data=0a.b").empty());
  CHECK(variations_of("aten.einsum(\"a)b(.c\", [f32[2]]) shape.empty_batch") ==
        Words{"shape.empty_batch"});
  CHECK(variations_of("").empty());
}

TEST_CASE("the op is that of the last call") {
  CHECK(op_of("aten.softmax.int(f16[2,4,16,16], -1) bwd") == "aten.softmax.int");
  CHECK(op_of("aten.relu(f32[4]) -> aten.pow.Tensor_Scalar(f32[4], (1+2j)) values.nan@all") ==
        "aten.pow.Tensor_Scalar");
  CHECK(op_of("aten.einsum(\"a\\\") -> x.y(\", [])") == "aten.einsum");
  CHECK(op_of("").empty());
}

TEST_CASE("workload and the default scope count, the rest stands beside") {
  ObjectRollUp roll_up;
  roll_up.add(judged("aten.relu(f32[4])", Status::pass));
  roll_up.add(judged("aten.relu(f32[4]) values.nan@first", Status::blocked, Reason::wrong_class));
  roll_up.add(judged("aten.relu(f32[4]) layout.step", Status::blocked, Reason::crash));
  roll_up.add(judged("aten.neg(f32[4])", Status::pass));
  roll_up.add(judged("aten.neg(f32[4]) layout.step", Status::blocked, Reason::crash));
  roll_up.add(judged("aten.neg(f32[4]) shape.empty_batch", Status::invalid));

  const auto ops = roll_up.ops();
  REQUIRE(ops.size() == 2);
  CHECK(ops[0].name == "aten.neg");
  CHECK(ops[0].status == Status::pass);
  CHECK(ops[0].invalid == 1);
  CHECK(ops[0].edge_findings == 1);
  CHECK(ops[0].first_edge_finding == "aten.neg(f32[4]) layout.step");
  CHECK(ops[1].status == Status::blocked);
  CHECK(ops[1].reason == Reason::wrong_class);
  CHECK(ops[1].worst_case == "aten.relu(f32[4]) values.nan@first");
  CHECK(ops[1].required == 2);
  CHECK(roll_up.modules().at(0).status == Status::blocked);
  CHECK(roll_up.model().edge_findings == 2);
}

TEST_CASE("none required is pending, also where all were invalid") {
  ObjectRollUp roll_up;
  roll_up.add(judged("aten.neg(f32[4]) layout.step", Status::pass));
  CHECK(roll_up.ops().at(0).status == Status::pending);
  CHECK(roll_up.ops().at(0).required == 0);
  roll_up.add(judged("aten.neg(f32[4])", Status::invalid));
  CHECK(roll_up.model().status == Status::pending);
  roll_up.add(judged("aten.neg(f32[5])", Status::pass));
  CHECK(roll_up.model().status == Status::pass);
}

TEST_CASE("an op's own scope replaces the default; composed variations need all of theirs") {
  Scope scope;
  scope.per_op["aten.neg"] = {"layout", "values.inf"};
  const auto required = [&](const std::string& text) {
    return is_required(judged(text, Status::pass), scope);
  };
  CHECK(required("aten.neg(f32[4]) layout.step"));
  CHECK(required("aten.neg(f32[4]) values.inf@last+layout.step"));
  CHECK_FALSE(required("aten.neg(f32[4]) values.nan@last+layout.step"));
  CHECK_FALSE(required("aten.neg(f32[4]) values.nan@last"));
  CHECK_FALSE(required("aten.neg(f32[4]) layouts.step"));
  CHECK(required("aten.relu(f32[4]) values.nan@last"));
}

TEST_CASE("the worst case is the first of the worst status") {
  ObjectRollUp roll_up;
  roll_up.add(judged("aten.neg(f32[1])", Status::pending, Reason::no_rule));
  roll_up.add(judged("aten.neg(f32[2])", Status::substitute, Reason::cpu_fallback));
  roll_up.add(judged("aten.neg(f32[3])", Status::pending, Reason::evidence_weak));
  CHECK(roll_up.model().worst_case == "aten.neg(f32[1])");
  CHECK(roll_up.model().reason == Reason::no_rule);
  CHECK(roll_up.model().pending == 2);
}
