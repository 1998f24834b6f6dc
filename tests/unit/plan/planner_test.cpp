#include "lib/plan/planner.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "lib/base/case_parser.h"
#include "lib/plan/family.h"
#include "lib/spec/schema_table.h"
#include "opreplay/error.h"

using namespace opreplay;

namespace {

const RuleSet& no_rules() {
  static const RuleSet rules = RuleSet::load({});
  return rules;
}

Case parsed(const std::string& text) { return parse_case(text, shipped_schemas()); }

/// The call as it is sent to the worker, as a string.
std::string varied(const std::string& text) {
  return to_string(resolve(parsed(text), no_rules(), shipped_schemas()).calls.back());
}

OpSpec spec_of(const std::string& call) {
  const Case c = parsed(call);
  OpSpec spec;
  spec.op = c.calls[0].op;
  spec.schema = "relu(Tensor self) -> Tensor";
  if (spec.op == "aten.add.Tensor")
    spec.schema = "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";
  SpecCall spec_call;
  spec_call.call = c.calls[0];
  spec_call.count = 3;
  spec.calls = {spec_call};
  return spec;
}

std::vector<std::string> texts(const Plan& plan) {
  std::vector<std::string> out;
  for (const PlannedCase& c : plan.cases) out.push_back(c.text);
  return out;
}

}  // namespace

// Expected geometry: worked out by hand from the definition of each member in docs/variations.md.
TEST_CASE("a variation's geometry is what its name says") {
  const std::string relu = "aten.relu(f32[4,3])";
  CHECK(varied(relu + " shape.empty_batch") == "aten.relu(f32[0,3])");
  CHECK(varied(relu + " shape.batch_one") == "aten.relu(f32[1,3])");
  CHECK(varied(relu + " layout.transposed") == "aten.relu(f32[4,3;1,4])");
  CHECK(varied(relu + " layout.step2") == "aten.relu(f32[4,3;6,2])");
  CHECK(varied(relu + " layout.offset") == "aten.relu(f32[4,3+1])");
  CHECK(varied(relu + " layout.expanded") == "aten.relu(f32[4,3;0,1])");
  CHECK(varied(relu + " dtype.bf16") == "aten.relu(bf16[4,3])");
}

TEST_CASE("tensors of data with the same leading size move together, others stay") {
  CHECK(varied("aten.add.Tensor(f32[4,3], f32[4,1]) shape.empty_batch") ==
        "aten.add.Tensor(f32[0,3], f32[0,1])");
  CHECK(varied("aten.add.Tensor(f32[4,3], f32[3]) shape.empty_batch") ==
        "aten.add.Tensor(f32[0,3], f32[3])");
  CHECK(varied("aten.add.Tensor(f32[4,3], f32[4,3]) shape.batch_one:self") ==
        "aten.add.Tensor(f32[1,3], f32[4,3])");
}

TEST_CASE("special values go on top of the recipe, at the place named") {
  const auto request =
      resolve(parsed("aten.relu(f32[2,3]) values.nan@last"), no_rules(), shipped_schemas());
  const auto* self = find_arg(request.calls[0], "self")->get<TensorArg>();
  REQUIRE(self);
  REQUIRE(self->values);
  REQUIRE(self->values->places.size() == 1);
  CHECK(self->values->places[0].where == Where::last);
  CHECK(std::isnan(self->values->places[0].value));
  CHECK(self->values->kind == Values::Kind::dist);
}

TEST_CASE("an in-place argument is never expanded, torch refuses to write through stride 0") {
  const Schema& schema = *shipped_schemas().find("aten.relu_");
  const OpCall call = parsed("aten.relu_(f32[4,3])").calls[0];
  for (const Variation& variation : find_family("layout").list({call, schema, nullptr}))
    CHECK(variation.member != "expanded");
}

TEST_CASE("nor is one that a rule knows to be written") {
  const Schema& schema = *shipped_schemas().find("aten.batch_norm");
  const OpCall call = parsed(
                          "aten.batch_norm(f32[4,3], null, null, f32[3], f32[3], true, 0.1, "
                          "1e-05, false)")
                          .calls[0];
  Rule rule;
  rule.written = {"running_mean", "running_var"};
  const Variation expanded{"layout", "expanded", "", {}};
  const auto apply = find_family("layout").apply;
  const auto mean = [&](const Rule* known) {
    return find_arg(apply({call, schema, known}, expanded), "running_mean")
        ->get<TensorArg>()
        ->desc.strides;
  };
  CHECK(mean(nullptr) == std::vector<std::int64_t>{0});
  CHECK(mean(&rule) == std::vector<std::int64_t>{1});
}

TEST_CASE("integer tensors get no special values and no other dtype") {
  const Schema& schema = *shipped_schemas().find("aten.add.Tensor");
  const OpCall call = parsed("aten.add.Tensor(i64[4,3], i64[4,3])").calls[0];
  CHECK(find_family("values").list({call, schema, nullptr}).empty());
  CHECK(find_family("dtype").list({call, schema, nullptr}).empty());
}

TEST_CASE("weights named by the capture stay, and the case string says which tensors moved") {
  OpSpec spec = spec_of("aten.add.Tensor(f32[4,3], f32[4,3])");
  find_arg(spec.calls[0].call, "other")->get<TensorArg>()->parameter = true;
  PlanOptions options;
  options.vary = {"shape"};
  const auto got = texts(make_plan({spec}, no_rules(), options));
  REQUIRE(got.size() == 3);
  CHECK(got[1] == "aten.add.Tensor(f32[4,3], f32[4,3]) shape.empty_batch:self");
  CHECK(varied(got[1]) == "aten.add.Tensor(f32[0,3], f32[4,3])");
}

TEST_CASE("workload first, then families in turn") {
  PlanOptions options;
  options.vary = {"dtype", "shape"};
  const auto got = texts(make_plan({spec_of("aten.relu(f32[4,3])")}, no_rules(), options));
  CHECK(got == std::vector<std::string>{
                   "aten.relu(f32[4,3])", "aten.relu(f32[4,3]) shape.empty_batch",
                   "aten.relu(f32[4,3]) dtype.f64", "aten.relu(f32[4,3]) shape.batch_one",
                   "aten.relu(f32[4,3]) dtype.f16", "aten.relu(f32[4,3]) dtype.bf16"});
}

TEST_CASE("vary none plans the calls alone") {
  PlanOptions options;
  options.vary = {"none"};
  CHECK(texts(make_plan({spec_of("aten.relu(f32[4,3])")}, no_rules(), options)).size() == 1);
}

TEST_CASE("every planned case survives the trip through its own string") {
  PlanOptions options;
  for (const char* call : {"aten.relu(f32[4,3])", "aten.add.Tensor(f32[4,3], f32[3], alpha=2)"})
    for (const PlannedCase& c : make_plan({spec_of(call)}, no_rules(), options).cases) {
      CHECK(parsed(c.text) == c.c);
      CHECK_NOTHROW(varied(c.text));
    }
}

TEST_CASE("an unknown member, place or argument is refused by name") {
  CHECK_THROWS_WITH(varied("aten.relu(f32[4]) values.nam@first"),
                    Catch::Matchers::Contains("expected nan"));
  CHECK_THROWS_WITH(varied("aten.relu(f32[4]) values.nan@frist"),
                    Catch::Matchers::Contains("@first"));
  CHECK_THROWS_WITH(varied("aten.relu(f32[4]) values.nan@first:other"),
                    Catch::Matchers::Contains("other is no tensor argument"));
  CHECK_THROWS_WITH(varied("aten.relu(f32[4]) shapes.empty_batch"),
                    Catch::Matchers::Contains("unknown variation family"));
}

TEST_CASE("a call that two specs list runs once and counts for both") {
  PlanOptions options;
  options.vary = {"values"};
  const OpSpec spec = spec_of("aten.relu(f32[4,3])");
  const Plan once = make_plan({spec}, no_rules(), options);
  const Plan twice = make_plan({spec, spec}, no_rules(), options);
  CHECK(texts(twice) == texts(once));
  for (const PlannedCase& c : twice.cases) CHECK(c.count == 6);
}

TEST_CASE("equal strings over other data are other cases") {
  OpSpec spec = spec_of("aten.relu(f32[4,3])");
  spec.calls.push_back(spec.calls[0]);
  find_arg(spec.calls[1].call, "self")->get<TensorArg>()->values =
      Values{.kind = Values::Kind::fill, .fill = 0.5};
  PlanOptions options;
  options.vary = {"none"};
  CHECK(make_plan({spec}, no_rules(), options).cases.size() == 2);
}

TEST_CASE("a spec's vary edits the default and yields to families asked for by name") {
  OpSpec spec = spec_of("aten.relu(f32[4,3])");
  spec.vary = {"-values", "-layout", "+shape"};
  const Plan plan = make_plan({spec}, no_rules(), {});
  for (const PlannedCase& c : plan.cases)
    CHECK((c.workload || c.family == "shape" || c.family == "dtype"));
  REQUIRE(plan.not_covered.size() == 2);
  CHECK(plan.not_covered[0].family == "values");
  CHECK(plan.not_covered[1].family == "layout");

  PlanOptions named;
  named.vary = {"layout"};
  const Plan asked = make_plan({spec}, no_rules(), named);
  CHECK(asked.cases.size() > 1);
  CHECK(asked.not_covered.empty());
}

TEST_CASE("scope and vary name families and members that exist") {
  OpSpec spec = spec_of("aten.relu(f32[4,3])");
  spec.scope = {"values.nosuch", "values.nan", "mode"};
  spec.vary = {"+state", "-values.nan"};
  try {
    make_plan({spec}, no_rules(), {});
    FAIL("not refused");
  } catch (const Error& error) {
    const std::string text = error.what();
    CHECK(text.find("scope: values.nosuch: the members of values are nan,") != std::string::npos);
    CHECK(text.find("scope: mode: this version varies") != std::string::npos);
    CHECK(text.find("vary: +state: this version varies") != std::string::npos);
    CHECK(text.find("vary: -values.nan: a family as a whole") != std::string::npos);
    CHECK(text.find("values.nan: the members") == std::string::npos);
  }
}

TEST_CASE("every member a family lists is one of those it names") {
  for (const char* text : {"aten.relu(f32[4,3])", "aten.add.Tensor(f64[4,3], f64[3])"}) {
    const OpCall call = parsed(text).calls[0];
    for (const Family& family : families())
      for (const Variation& v : family.list({call, *shipped_schemas().find(call.op), nullptr})) {
        INFO(to_string(v));
        CHECK(std::count(family.members.begin(), family.members.end(), v.member) == 1);
      }
  }
}

TEST_CASE("an edge case typed by hand is in its own scope") {
  const PlannedCase c = plan_case(parsed("aten.relu(f32[4,3]) layout.step2"));
  CHECK_FALSE(c.workload);
  CHECK(c.scope == std::vector<std::string>{"layout.step2"});
}

TEST_CASE("a wish for backward replay is reported, not dropped") {
  OpSpec spec = spec_of("aten.relu(f32[4,3])");
  spec.calls[0].replay_backward = true;
  const Plan plan = make_plan({spec}, no_rules(), {});
  REQUIRE(plan.not_covered.size() == 1);
  CHECK(plan.not_covered[0].family == "backward");
}

TEST_CASE("a backward case is refused, never run forward in its place") {
  CHECK_THROWS_WITH(varied("aten.relu(f32[4]) bwd"), Catch::Matchers::Contains("backward replay"));
}
