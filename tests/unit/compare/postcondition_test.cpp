/// Models that accept many results: laws of random operators, places of chosen elements, writers of
/// a place, metadata only. Draws come from std::mt19937_64 through the textbook transforms (inverse
/// distribution functions, Box-Muller), not from the code under test.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <random>

#include "opreplay/error.h"
#include "tests/unit/compare/support.h"

using namespace opreplay;
using namespace opreplay::test;

namespace {

/// Compares `y` under a model that looks at nothing but y, inputs and arguments.
OutputComparison judged(const char* model, const Evidence& e, const std::vector<double>& y) {
  return compared(e, find_error_model(model)->bound(e), y);
}

Evidence law(const char* name, std::size_t draws,
             std::map<std::string, std::vector<double>> scalars = {}) {
  Evidence e = vector_evidence(DType::f64, std::vector<double>(draws, 0));
  e.attributes["law"] = name;
  e.scalars = std::move(scalars);
  return e;
}

std::vector<double> draw(std::size_t count, std::uint64_t seed,
                         const std::function<double(double, double)>& transform) {
  std::mt19937_64 engine(seed);
  const auto unit = [&] { return (static_cast<double>(engine() >> 11) + 0.5) * 0x1p-53; };
  std::vector<double> out(count);
  for (double& y : out) {
    const double first = unit();
    y = transform(first, unit());
  }
  return out;
}

double normal(double a, double b) {
  return std::sqrt(-2 * std::log(a)) * std::cos(2 * 3.14159265358979323846 * b);
}

struct Honest {
  const char* law;
  std::map<std::string, std::vector<double>> scalars;
  std::function<double(double, double)> transform;
};

const std::vector<Honest> k_honest = {
    {"uniform", {}, [](double a, double) { return a; }},
    {"uniform", {{"from", {-3}}, {"to", {2}}}, [](double a, double) { return -3 + 5 * a; }},
    {"normal",
     {{"mean", {3}}, {"std", {2}}},
     [](double a, double b) { return 3 + 2 * normal(a, b); }},
    {"whole",
     {{"low", {-3}}, {"high", {5}}},
     [](double a, double) { return std::floor(-3 + 8 * a); }},
    {"bernoulli", {{"p", {0.01}}}, [](double a, double) { return a < 0.01 ? 1.0 : 0.0; }},
    {"bernoulli", {{"p", {0.5}}}, [](double a, double) { return a < 0.5 ? 1.0 : 0.0; }},
    {"exponential", {{"lambd", {2}}}, [](double a, double) { return -std::log(a) / 2; }},
    {"geometric",
     {{"p", {0.25}}},
     [](double a, double) { return std::ceil(std::log(a) / std::log(0.75)); }},
    {"any", {}, [](double a, double) { return std::tan(3.14159265358979323846 * (a - 0.5)); }},
};

}  // namespace

TEST_CASE("honest draws follow their law, few or many") {
  for (const Honest& h : k_honest)
    for (const std::size_t count : {1, 3, 50, 1024, 5000})
      for (std::uint64_t seed = 0; seed < 60; ++seed) {
        INFO(h.law << " " << count << " draws, seed " << seed);
        const OutputComparison c =
            judged("random", law(h.law, count, h.scalars), draw(count, seed, h.transform));
        CHECK(passes(c));
        CHECK(c.notes.empty());
        CHECK_FALSE(c.weak_evidence);
      }
}

TEST_CASE("a draw outside the support, of another mean or spread does not follow the law") {
  for (const Honest& h : k_honest) {
    if (std::string(h.law) == "any") continue;
    INFO(h.law);
    const Evidence e = law(h.law, 5000, h.scalars);
    const std::vector<double> y = draw(5000, 1, h.transform);
    std::vector<double> one = y;
    one[17] = std::nan("");
    CHECK(judged("random", e, one).classes.nan == 1);
    const std::vector<double> same(y.size(), y[0]);
    CHECK_FALSE(passes(judged("random", e, same)));
    if (std::string(h.law) == "normal") continue;
    one[17] = -1000;
    const OutputComparison outside = judged("random", e, one);
    CHECK(outside.bad == 1);
    CHECK(outside.worst.at(0).index == std::vector<std::int64_t>{17});
  }
  // N(3, 2^2): a mean that is 0.3 off is 10 standard errors of 5,000 draws; half the spread.
  const Evidence e = law("normal", 5000, k_honest[2].scalars);
  CHECK(
      judged("random", e, draw(5000, 2, [](double a, double b) { return 3.3 + 2 * normal(a, b); }))
          .bad == 5000);
  const OutputComparison narrow =
      judged("random", e, draw(5000, 2, [](double a, double b) { return 3 + normal(a, b); }));
  CHECK(narrow.bad == 5000);
  CHECK(narrow.notes.at(0).starts_with("variance is 0.2"));
  // randint's end is excluded; its numbers are whole.
  CHECK_FALSE(passes(judged("random", law("whole", 1, {{"high", {5}}}), {5})));
  CHECK_FALSE(passes(judged("random", law("whole", 1, {{"high", {5}}}), {2.5})));
  CHECK(passes(judged("random", law("whole", 1, {{"high", {5}}}), {4})));
}

TEST_CASE("probabilities may differ from element to element") {
  Evidence e = law("bernoulli", 4);
  e.inputs["self"] = {{4}, {0, 1, 0.5, 0.5}};
  CHECK(passes(judged("random", e, {0, 1, 1, 0})));
  CHECK(judged("random", e, {1, 1, 1, 0}).bad == 1);  // p = 0
  CHECK(judged("random", e, {0, 0, 1, 0}).bad == 1);  // p = 1
}

TEST_CASE("dropout gives 0 or x/(1-p), as often as p says") {
  const std::size_t n = 4000;
  Evidence e = law("dropout", n, {{"p", {0.25}}, {"train", {1}}});
  e.inputs["input"] = {{static_cast<std::int64_t>(n)}, draw(n, 5, normal)};
  const std::vector<double>& x = e.inputs["input"].data;
  const std::vector<double> coin = draw(n, 6, [](double a, double) { return a; });
  const auto dropped = [&](double p, double scale) {
    std::vector<double> y;
    for (std::size_t i = 0; i < n; ++i) y.push_back(coin[i] < p ? 0 : x[i] * scale);
    return y;
  };
  CHECK(passes(judged("random", e, dropped(0.25, 1 / 0.75))));
  CHECK_FALSE(passes(judged("random", e, dropped(0.25, 1))));  // forgot the scale
  CHECK_FALSE(passes(judged("random", e, dropped(0.25, 1.01 / 0.75))));
  const OutputComparison rare = judged("random", e, dropped(0.2, 1 / 0.75));
  CHECK(rare.bad == static_cast<std::int64_t>(n));  // 0.05 is 7.3 standard errors
  CHECK(rare.notes.at(0).starts_with("share of zeros "));
  CHECK_FALSE(passes(judged("random", e, dropped(0, 1 / 0.75))));
  // Outside training the input itself, bit by bit.
  e.scalars["train"] = {0};
  CHECK(find_error_model("random")->bound(e).exact);
  // The mask of native_dropout keeps 1 - p.
  e.scalars["train"] = {1};
  e.output = 1;
  CHECK(
      passes(judged("random", e, draw(n, 7, [](double a, double) { return a < 0.75 ? 1. : 0.; }))));
  CHECK_FALSE(
      passes(judged("random", e, draw(n, 7, [](double a, double) { return a < 0.25 ? 1. : 0.; }))));
}

TEST_CASE("alpha_dropout keeps a x + b and drops to a alpha' + b") {
  // a and b of torch.nn.AlphaDropout for p = 0.5, evaluated in Python:
  // alpha' = -1.7580993408473766, a = ((1 - p)(1 + p alpha'^2))^-0.5, b = -a alpha' p.
  const double a = 0.886404894665932, b = 0.7791939305180317, dropped = -b;
  Evidence e = law("alpha_dropout", 4, {{"p", {0.5}}, {"train", {1}}});
  e.dtype = DType::f32;
  e.inputs["input"] = {{4}, {1, -2, 0.5, 3}};
  CHECK(passes(judged("random", e, {a + b, -2 * a + b, dropped, dropped})));
  CHECK(judged("random", e, {a + b, -2 * a + b, 0, dropped}).bad == 1);
}

TEST_CASE("rrelu's slopes lie between lower and upper") {
  Evidence e = law("rrelu", 3, {{"lower", {0.1}}, {"upper", {0.3}}, {"training", {1}}});
  e.inputs["self"] = {{3}, {2, -1, -4}};
  CHECK(passes(judged("random", e, {2, -0.2, -0.5})));
  CHECK(judged("random", e, {2, -0.2, -0.3}).bad == 1);
  CHECK(judged("random", e, {2.5, -0.2, -0.5}).bad == 1);
}

TEST_CASE("randperm holds each number once, multinomial what has weight") {
  Evidence e = law("permutation", 5);
  e.dtype = DType::i64;
  CHECK(passes(judged("random", e, {3, 0, 4, 1, 2})));
  CHECK(judged("random", e, {3, 0, 4, 1, 1}).bad == 1);
  CHECK(judged("random", e, {3, 0, 5, 1, 2}).bad == 1);
  Evidence m = law("multinomial", 4, {{"replacement", {0}}});
  m.dtype = DType::i64;
  m.reference.sizes = {2, 2};
  m.inputs["self"] = {{2, 3}, {1, 0, 2, 1, 1, 1}};
  CHECK(passes(judged("random", m, {2, 0, 1, 0})));
  CHECK(judged("random", m, {1, 0, 1, 0}).bad == 1);  // no weight
  CHECK(judged("random", m, {2, 0, 1, 1}).bad == 1);  // drawn twice
  m.scalars["replacement"] = {1};
  CHECK(passes(judged("random", m, {2, 0, 1, 1})));
}

TEST_CASE("an unknown law is an error of the rule") {
  CHECK_THROWS_WITH(find_error_model("random")->bound(law("poissn", 1)),
                    Catch::Contains("oracle attribute 'law'") && Catch::Contains("'poissn'"));
}

TEST_CASE("among ties any place is right, another element's is not") {
  Evidence e = vector_evidence(DType::i64, {1, 0});
  e.reference.sizes = {2, 1};
  e.attributes["reduce"] = "dim";
  e.scalars["dim"] = {1};
  e.inputs["self"] = {{2, 4}, {0, 7, 7, 3, 5, 1, 2, 5}};
  CHECK(passes(judged("chosen", e, {1, 0})));
  CHECK(passes(judged("chosen", e, {2, 3})));
  CHECK(judged("chosen", e, {3, 0}).bad == 1);
  CHECK(judged("chosen", e, {1, 4}).bad == 1);
  CHECK(judged("chosen", e, {1, -1}).bad == 1);
  // Along the first dim, and over all elements.
  e.scalars["dim"] = {0};
  e.reference = {{4}, {1, 0, 0, 1}};
  CHECK(passes(judged("chosen", e, {1, 0, 0, 1})));
  CHECK(judged("chosen", e, {1, 0, 1, 1}).bad == 1);
  e.scalars.erase("dim");
  e.reference = {{}, {1}};
  CHECK(passes(judged("chosen", e, {2})));
  CHECK(judged("chosen", e, {5}).bad == 1);
}

TEST_CASE("topk and sort choose each place once; a stable sort leaves no choice") {
  Evidence e = vector_evidence(DType::i64, {1, 2});
  e.output = 1;
  e.attributes = {{"index", "1"}, {"reduce", "dim"}, {"distinct", "true"}};
  e.scalars["dim"] = {-1};
  e.inputs["self"] = {{4}, {0, 7, 7, 3}};
  CHECK(passes(judged("chosen", e, {2, 1})));
  CHECK(judged("chosen", e, {2, 2}).bad == 1);
  e.scalars["stable"] = {1};
  CHECK(find_error_model("chosen")->bound(e).exact);
  e.scalars.erase("stable");
  e.output = 0;
  CHECK(find_error_model("chosen")->bound(e).exact);
}

TEST_CASE("a place in a plane counts through its last dims") {
  // max_pool2d of one 2 x 2 window per plane.
  Evidence e = vector_evidence(DType::i64, {3, 0});
  e.attributes["plane"] = "2";
  e.reference.sizes = {1, 2, 1, 1};
  e.inputs["self"] = {{1, 2, 2, 2}, {0, 1, 2, 9, 4, 4, 1, 0}};
  CHECK(passes(judged("chosen", e, {3, 1})));
  CHECK(judged("chosen", e, {3, 2}).bad == 1);
}

TEST_CASE("scatter may leave any of the values written to a place") {
  Evidence e = vector_evidence(DType::f32, {5, 2, 3});
  e.scalars["dim"] = {0};
  e.inputs["self"] = {{3}, {1, 2, 3}};
  e.inputs["index"] = {{2}, {0, 0}};
  e.inputs["src"] = {{4}, {4, 5, 6, 7}};
  CHECK(passes(judged("scatter", e, {5, 2, 3})));
  CHECK(passes(judged("scatter", e, {4, 2, 3})));
  CHECK(judged("scatter", e, {6, 2, 3}).bad == 1);
  CHECK(judged("scatter", e, {1, 2, 3}).bad == 1);
  CHECK(judged("scatter", e, {5, 2, 0}).bad == 1);
}

TEST_CASE("uninitialised outputs are compared by metadata only") {
  const Evidence e = vector_evidence(DType::f32, {1, 2});
  const Bound bound = find_error_model("structure")->bound(e);
  CHECK(bound.metadata);
  CHECK(passes(compared(e, bound, {std::nan(""), 7})));
}
