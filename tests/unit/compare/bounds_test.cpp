/// Bounds of every model against tests/data/oracle/bounds.json, which torch evaluated in fp64 from
/// the formulas (bounds.py beside it).
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "opreplay/error.h"
#include "tests/unit/compare/support.h"

using namespace opreplay;
using nlohmann::json;

namespace {

std::vector<double> numbers(const json& list) {
  std::vector<double> out;
  for (const json& text : list)
    out.push_back(std::strtod(text.get<std::string>().c_str(), nullptr));
  return out;
}

std::vector<double> optional_numbers(const json& c, const char* key) {
  return c.contains(key) ? numbers(c[key]) : std::vector<double>{};
}

Evidence evidence_of(const json& c) {
  Evidence e;
  e.dtype = parse_dtype(c["dtype"].get<std::string>()).value();
  e.reference = {c["sizes"].get<std::vector<std::int64_t>>(), numbers(c["reference"])};
  for (const auto& [name, input] : c["inputs"].items())
    e.inputs[name] = {input["sizes"].get<std::vector<std::int64_t>>(), numbers(input["data"]),
                      parse_dtype(input["dtype"].get<std::string>()).value()};
  e.scalars = c["scalars"].get<std::map<std::string, std::vector<double>>>();
  e.attributes = c["attributes"].get<std::map<std::string, std::string>>();
  e.sum_abs = optional_numbers(c, "sum_abs");
  e.sum_squares = optional_numbers(c, "sum_squares");
  e.count = optional_numbers(c, "count");
  e.condition = optional_numbers(c, "condition");
  e.magnitude = optional_numbers(c, "magnitude");
  e.distinct_magnitudes = c.value("distinct", 0);
  e.output = c.value("output", std::size_t{0});
  e.complex_operands = c.value("complex_operands", false);
  e.complex_result = c.value("complex_result", false);
  e.words = c.value("words", std::map<std::string, std::string>{});
  return e;
}

/// The worst relative difference; infinite if sizes or zeros differ.
double difference(const std::vector<double>& got, const std::vector<double>& expected) {
  if (got.size() != expected.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i] != expected[i])
      worst = std::max(worst, std::abs(got[i] - expected[i]) / std::abs(expected[i]));
  return worst;
}

json cases() {
  std::ifstream file(OPREPLAY_TEST_DATA "/oracle/bounds.json");
  return json::parse(file);
}

}  // namespace

TEST_CASE("every model bounds as the formulas say") {
  std::set<std::string> models;
  for (const json& c : cases()) {
    INFO(c["name"].get<std::string>());
    const ErrorModel* model = find_error_model(c["model"].get<std::string>());
    REQUIRE(model);
    models.emplace(model->name);
    const Bound bound = model->bound(evidence_of(c));
    CHECK_FALSE(bound.exact);
    CHECK(difference(bound.tau, numbers(c["tau"])) < 1e-9);
    CHECK(difference(bound.tau_wider, optional_numbers(c, "tau_wider")) < 1e-9);
    CHECK(difference(bound.rms_scale, optional_numbers(c, "rms_scale")) < 1e-9);
    if (!c.contains("downgrades")) continue;
    const json& downgrades = c["downgrades"];
    REQUIRE(bound.downgrades.size() == downgrades.size());
    for (std::size_t d = 0; d < downgrades.size(); ++d) {
      CHECK(bound.downgrades[d].format == downgrades[d][0].get<std::string>());
      CHECK(difference(bound.downgrades[d].tau, numbers(downgrades[d][1])) < 1e-9);
    }
  }
  // All but those without a formula: bitwise, or by a postcondition; generic has a test of its own.
  for (const ErrorModel& model : error_models()) {
    INFO(model.name);
    CHECK(models.contains(std::string(model.name)) == (model.needs.wide && !model.needs.staged));
  }
}

TEST_CASE("every model with a bound is exact for integers and bool") {
  for (const ErrorModel& model : error_models()) {
    if (!model.needs.wide) continue;
    INFO(model.name);
    CHECK(model.bound(test::vector_evidence(DType::i64, {1, 2})).exact);
    CHECK(model.bound(test::vector_evidence(DType::boolean, {1, 0})).exact);
  }
}

TEST_CASE("no model gives NaN, an infinite bound or a bound where the reference is not finite") {
  const double inf = std::numeric_limits<double>::infinity();
  for (const json& c : cases()) {
    Evidence e = evidence_of(c);
    if (e.reference.data.empty()) continue;
    e.reference.data.front() = std::nan("");
    if (!e.condition.empty()) e.condition.back() = inf;
    if (!e.sum_squares.empty()) e.sum_squares.back() = e.sum_abs.back() = inf;
    for (auto& input : e.inputs) input.second.data.back() = inf;
    INFO(c["name"].get<std::string>());
    const Bound bound = find_error_model(c["model"].get<std::string>())->bound(e);
    CHECK(bound.tau.front() == 0);
    for (const double tau : bound.tau) CHECK((tau >= 0 && tau < inf));
  }
}

TEST_CASE("a reference computed in T doubles the bound and adds an ulp") {
  Evidence e = test::vector_evidence(DType::f32, {1.5, -3});
  const ErrorModel& model = *find_error_model("elementwise");
  const std::vector<double> alone = model.bound(e).tau;
  e.same_precision = true;
  const std::vector<double> both = model.bound(e).tau;
  CHECK(both[0] == 2 * alone[0] + 0x1p-23);
  CHECK(both[1] == 2 * alone[1] + 0x1p-22);
}

TEST_CASE("a correctly rounded op rounds once more where an operand is no number of T") {
  const ErrorModel& model = *find_error_model("elementwise");
  Evidence e = test::vector_evidence(DType::bf16, {1.5, -3});
  e.attributes["kind"] = "exact";
  CHECK(model.bound(e).tau == std::vector<double>{0, 0});
  e.rounds_twice = true;  // first to f32
  CHECK(model.bound(e).tau == std::vector<double>{1.5 * 0x1p-24, 3 * 0x1p-24});
  e.dtype = DType::f32;  // first to f64
  CHECK(model.bound(e).tau == std::vector<double>{1.5 * 0x1p-53, 3 * 0x1p-53});
}

TEST_CASE("lower formats come by what they lose on the data") {
  // mm in f16 of unit terms: rounded inputs lose more than a narrow accumulator up to K = 270 or
  // so.
  const auto first = [](double k) {
    Evidence e = test::vector_evidence(DType::f16, std::vector<double>(16, 0.5));
    e.sum_abs.assign(16, 0.64 * k);
    e.sum_squares.assign(16, k);
    e.count.assign(16, k);
    return find_error_model("accumulate")->bound(e).downgrades.at(0).format;
  };
  CHECK(first(64) == "accumulation in f16");
  CHECK(first(1024) == "bf16 inputs");
}

TEST_CASE("a rule that does not fit says what is missing") {
  const Evidence e = test::vector_evidence(DType::f32, {1});
  CHECK_THROWS_WITH(find_error_model("softmax")->bound(e),
                    "oracle model 'softmax': expected an argument 'self' or 'input', found none; "
                    "correct the rule of this operator");
  Evidence words = e;
  words.attributes["ulp"] = "four";
  CHECK_THROWS_WITH(find_error_model("elementwise")->bound(words),
                    "oracle attribute 'ulp': expected a number, found 'four'; correct the rule of "
                    "this operator");
  Evidence dim = e;
  dim.inputs["self"] = {{1}, {1}};
  dim.attributes["reduce"] = "dim";
  dim.scalars["dim"] = {1};
  CHECK_THROWS_AS(find_error_model("softmax")->bound(dim), Error);
  CHECK(find_error_model("no such model") == nullptr);
}
