/// What the oracle must do on real sums: honest orders pass, planted defects are caught. The sums
/// are computed here, in f32, in several orders; the reference in fp64.
#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "lib/base/fill.h"
#include "tests/unit/compare/support.h"

using namespace opreplay;
using namespace opreplay::test;

namespace {

using Terms = std::vector<float>;
using Order = float (*)(const Terms&);

float in_order(const Terms& t) {
  float sum = 0;
  for (const float x : t) sum += x;
  return sum;
}

float reversed(const Terms& t) {
  float sum = 0;
  for (std::size_t i = t.size(); i > 0; --i) sum += t[i - 1];
  return sum;
}

float pairwise(const Terms& t) {
  Terms level = t;
  while (level.size() > 1) {
    if (level.size() % 2 != 0) level.push_back(0);
    for (std::size_t i = 0; i < level.size() / 2; ++i) level[i] = level[2 * i] + level[2 * i + 1];
    level.resize(level.size() / 2);
  }
  return level[0];
}

float split(const Terms& t) {
  const std::size_t part = (t.size() + 7) / 8;
  float sum = 0;
  for (std::size_t from = 0; from < t.size(); from += part) {
    float inner = 0;
    for (std::size_t i = from; i < std::min(from + part, t.size()); ++i) inner += t[i];
    sum += inner;
  }
  return sum;
}

constexpr Order k_orders[] = {in_order, reversed, pairwise, split};

enum class Fill { normal, uniform, positive, lognormal };
constexpr Fill k_fills[] = {Fill::normal, Fill::uniform, Fill::positive, Fill::lognormal};

/// `count` numbers of the fill, rounded to the dtype.
std::vector<double> operand(Fill kind, DType dtype, std::size_t count, std::uint64_t seed,
                            const char* name) {
  Values recipe;
  if (kind == Fill::uniform) recipe.dist = Dist::uniform;
  std::vector<std::byte> bytes(count * size_of(dtype));
  fill(recipe, make_desc(dtype, {static_cast<std::int64_t>(count)}), stream_key(seed, name), bytes);
  std::vector<double> x = load_elements(dtype, bytes);
  for (double& v : x) {
    if (kind == Fill::positive) v = std::abs(v) + 0.1;
    if (kind == Fill::lognormal) v = std::exp(2 * v);
    v = round_to(dtype, v);
  }
  return x;
}

/// a [m, k] times b [k, n], with everything the accumulate model wants to know.
struct Product {
  std::size_t m, k, n;
  std::vector<double> a, b;
  Evidence evidence;

  Product(std::size_t rows, std::size_t length, std::size_t columns, Fill kind, DType dtype,
          std::uint64_t seed)
      : m(rows),
        k(length),
        n(columns),
        a(operand(kind, dtype, m * k, seed, "self")),
        b(operand(kind, dtype, k * n, seed, "mat2")) {
    evidence.dtype = dtype;
    evidence.distinct_magnitudes = 64;
    evidence.reference.sizes = {static_cast<std::int64_t>(m), static_cast<std::int64_t>(n)};
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        double r = 0, s = 0, q2 = 0;
        for (std::size_t l = 0; l < k; ++l) {
          const double term = a[i * k + l] * b[l * n + j];
          r += term;
          s += std::abs(term);
          q2 += term * term;
        }
        evidence.reference.data.push_back(r);
        evidence.sum_abs.push_back(s);
        evidence.sum_squares.push_back(q2);
        evidence.count.push_back(static_cast<double>(k));
      }
  }

  /// The product as a device computes it: f32 products and sums in an order, inputs changed first.
  std::vector<double> on_device(
      Order order, const std::function<double(double)>& input = [](double x) { return x; }) const {
    std::vector<double> out;
    Terms terms(k);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t l = 0; l < k; ++l)
          terms[l] =
              static_cast<float>(input(a[i * k + l])) * static_cast<float>(input(b[l * n + j]));
        out.push_back(order(terms));
      }
    return out;
  }

  OutputComparison compare_with(const std::vector<double>& result) const {
    return compared(evidence, find_error_model("accumulate")->bound(evidence), result);
  }
};

/// A product plus a bias along its columns, as aten.linear.
struct BiasedProduct {
  std::vector<double> bias;
  Evidence evidence;

  BiasedProduct(const Product& product, std::vector<double> b)
      : bias(std::move(b)), evidence(product.evidence) {
    evidence.attributes = {{"bias", "-1"}};
    evidence.inputs["bias"] = {{static_cast<std::int64_t>(bias.size())}, bias, evidence.dtype};
    for (std::size_t i = 0; i < evidence.reference.data.size(); ++i) {
      const double x = bias_at(i);
      evidence.reference.data[i] += x;
      evidence.sum_abs[i] += std::abs(x);
      evidence.sum_squares[i] += x * x;
      evidence.count[i] += 1;
    }
  }

  double bias_at(std::size_t i) const { return bias[i % bias.size()]; }
  double product_at(std::size_t i) const { return evidence.reference.data[i] - bias_at(i); }
  std::size_t largest_product() const {
    std::size_t best = 0;
    for (std::size_t i = 0; i < evidence.reference.data.size(); ++i)
      if (std::abs(product_at(i)) > std::abs(product_at(best))) best = i;
    return best;
  }
  std::vector<std::int64_t> index_of(std::size_t i) const {
    const auto columns = static_cast<std::int64_t>(bias.size());
    return {static_cast<std::int64_t>(i) / columns, static_cast<std::int64_t>(i) % columns};
  }

  OutputComparison compare(const std::vector<double>& result) const {
    return compared(evidence, find_error_model("accumulate")->bound(evidence), result);
  }
  /// `sums` of the products, changed by `between`, then the bias added in f32.
  OutputComparison compare_with(std::vector<double> sums,
                                const std::function<double(double)>& between) const {
    for (std::size_t i = 0; i < sums.size(); ++i)
      sums[i] = static_cast<float>(between(sums[i])) + static_cast<float>(bias_at(i));
    return compare(sums);
  }
};

double keep_bits(double x, int bits) {
  int exponent;
  const double mantissa = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, bits)), exponent - bits);
}

bool model_passes(const char* model, const Evidence& e, const std::vector<double>& target) {
  return passes(compared(e, find_error_model(model)->bound(e), target));
}

/// softmax over rows of `length`, in fp64.
Evidence softmax_evidence(DType dtype, std::size_t rows, std::size_t length) {
  Evidence e;
  e.dtype = dtype;
  e.inputs["self"] = {{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(length)},
                      operand(Fill::normal, dtype, rows * length, 3, "self")};
  e.reference.sizes = e.inputs["self"].sizes;
  const std::vector<double>& x = e.inputs["self"].data;
  for (std::size_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < length; ++i) sum += std::exp(x[row * length + i]);
    for (std::size_t i = 0; i < length; ++i)
      e.reference.data.push_back(std::exp(x[row * length + i]) / sum);
  }
  return e;
}

}  // namespace

TEST_CASE("honest orders of accumulation pass, whatever the data") {
  std::size_t lengths[] = {64, 100, 256, 1000, 1024, 2048, 4096};
  int tried = 0;
  const bool ok = rc::check("no false alarm", [&] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const std::size_t k = lengths[*rc::gen::inRange<std::size_t>(0, 7)];
    const Fill kind = k_fills[*rc::gen::inRange<std::size_t>(0, 4)];
    const DType dtype = *rc::gen::element(DType::f32, DType::f16, DType::bf16);
    const Product product(8, k, 8, kind, dtype, seed);
    for (const Order order : k_orders) {
      const OutputComparison c = product.compare_with(product.on_device(order));
      RC_ASSERT(passes(c));
      RC_ASSERT(!c.weak_evidence);
    }
    ++tried;
  });
  CHECK(ok);
  CHECK(tried >= 100);
}

TEST_CASE("a sum of equal numbers is biased, honestly") {
  // 0.1 added 4,096 times: each addition rounds the same way; far beyond a random walk.
  Evidence e = vector_evidence(DType::f32, {0});
  const double x = static_cast<double>(0.1f), k = 4096;
  e.reference.data = {k * x};
  e.sum_abs = {k * x};
  e.sum_squares = {k * x * x};
  e.count = {k};
  e.distinct_magnitudes = 1;
  const double sum = in_order(Terms(4096, 0.1f));
  CHECK(model_passes("accumulate", e, {sum}));
  CHECK(std::abs(sum - k * x) > 1e-3);  // 409.6 of which the walk allows 8e-4
}

TEST_CASE("inputs of 10 or 7 mantissa bits are a downgrade, not a value") {
  int named = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const std::size_t k : {64, 1024}) {
      const Product product(8, k, 8, Fill::normal, DType::f32, seed);
      const OutputComparison tf32 = product.compare_with(
          product.on_device(in_order, [](double x) { return keep_bits(x, 11); }));
      CHECK(tf32.bad > 0);
      CHECK(tf32.within_downgrade);
      CHECK(tf32.downgrade == "10-bit mantissa inputs");
      const OutputComparison bf16 = product.compare_with(
          product.on_device(in_order, [](double x) { return round_to(DType::bf16, x); }));
      CHECK(bf16.bad > 0);
      CHECK(bf16.within_downgrade);
      named += bf16.downgrade == "bf16 inputs";
    }
  // The bound of 10 bits is 1.8 standard deviations of bf16's errors: 64 of them rarely fit.
  CHECK(named >= 28);
}

TEST_CASE("sums kept in f16 are a downgrade") {
  // 128 terms: by the formulas f16 sums lose 0.7 of what bf16 inputs lose, beyond 256 terms more.
  constexpr std::size_t k_terms = 128;
  const Product product(8, k_terms, 8, Fill::normal, DType::f16, 11);
  std::vector<double> out;
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t j = 0; j < 8; ++j) {
      double sum = 0;
      for (std::size_t l = 0; l < k_terms; ++l)
        sum = round_to(DType::f16, sum + product.a[i * k_terms + l] * product.b[l * 8 + j]);
      out.push_back(sum);
    }
  const OutputComparison c = product.compare_with(out);
  CHECK(c.bad > 0);
  CHECK(c.downgrade == "accumulation in f16");
}

TEST_CASE("a product rounded to half precision before its bias is added passes, with a note") {
  const std::vector<std::string> rounded{"T-rounded intermediates"};
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32})
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Product product(16, 64, 16, Fill::normal, dtype, seed);
      const BiasedProduct linear(product, operand(Fill::normal, dtype, 16, seed, "bias"));
      const std::vector<double> sums = product.on_device(pairwise);
      INFO(name(dtype) << " seed " << seed);

      const OutputComparison once = linear.compare_with(sums, [](double x) { return x; });
      CHECK(passes(once));
      CHECK(once.notes.empty());
      const auto to_t = [dtype](double x) { return round_to(dtype, x); };
      const OutputComparison twice = linear.compare_with(sums, to_t);
      CHECK(passes(twice));
      CHECK(twice.notes == (dtype == DType::f32 ? std::vector<std::string>{} : rounded));

      if (dtype == DType::f32) continue;
      // One spacing of the largest product is twice what its rounding may lose.
      const std::size_t worst = linear.largest_product();
      std::vector<double> off = linear.evidence.reference.data;
      off[worst] += 2 * ulp(dtype, off[worst]) + 2 * ulp(dtype, linear.product_at(worst));
      CHECK(linear.compare(off).bad == 1);
      CHECK(linear.compare(off).worst[0].index == linear.index_of(worst));
      std::vector<double> forgotten = linear.evidence.reference.data;
      for (std::size_t i = 0; i < forgotten.size(); ++i) forgotten[i] = linear.product_at(i);
      CHECK(linear.compare(forgotten).bad > 200);  // of 256: the bias left out
    }
}

TEST_CASE("a gain of half a percent, a zeroed row and a swapped neighbour are wrong values") {
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const DType dtype : {DType::f32, DType::f16}) {
      const Product product(8, 2048, 8, Fill::normal, dtype, seed);
      std::vector<double> right = product.on_device(pairwise);
      for (double& y : right) y = round_to(dtype, y);

      std::vector<double> gain = right;
      for (double& y : gain) y *= 1.005;
      CHECK(product.compare_with(gain).bad > 0);

      std::vector<double> row = right;
      std::fill(row.end() - 8, row.end(), 0.0);
      const OutputComparison zeroed = product.compare_with(row);
      CHECK(zeroed.bad == 8);
      CHECK(!zeroed.within_downgrade);

      std::vector<double> neighbour = right;
      neighbour[32] = right[31];
      const OutputComparison swapped = product.compare_with(neighbour);
      CHECK(swapped.bad == 1);
      CHECK(!swapped.within_downgrade);
      CHECK(swapped.worst.at(0).index == std::vector<std::int64_t>{4, 0});
    }
}

TEST_CASE("softmax of zeros, a NaN, a gain are caught; the f32 softmax passes") {
  const Evidence e = softmax_evidence(DType::f32, 16, 2048);
  const std::vector<double>& x = e.inputs.at("self").data;
  std::vector<double> honest;
  for (std::size_t row = 0; row < 16; ++row) {
    float top = -1e30f, sum = 0;
    for (std::size_t i = 0; i < 2048; ++i)
      top = std::max(top, static_cast<float>(x[row * 2048 + i]));
    for (std::size_t i = 0; i < 2048; ++i)
      sum += std::exp(static_cast<float>(x[row * 2048 + i]) - top);
    for (std::size_t i = 0; i < 2048; ++i)
      honest.push_back(std::exp(static_cast<float>(x[row * 2048 + i]) - top) / sum);
  }
  CHECK(model_passes("softmax", e, honest));
  const OutputComparison zeros =
      compared(e, find_error_model("softmax")->bound(e), std::vector<double>(honest.size(), 0.0));
  CHECK(zeros.bad == 16 * 2048);  // a flat tolerance of 1e-3 would let all of them pass
  CHECK(zeros.zero_share == 1);
  std::vector<double> gain = honest, nan = honest;
  for (double& y : gain) y *= 1.005;
  CHECK(!model_passes("softmax", e, gain));
  nan[2047] = std::nan("");
  CHECK(!model_passes("softmax", e, nan));
}

TEST_CASE("one neighbour swapped among 16 rows of an f16 softmax is caught") {
  const Evidence e = softmax_evidence(DType::f16, 16, 64);
  std::vector<double> y = e.reference.data;
  CHECK(model_passes("softmax", e, y));
  std::swap(y[500], y[501]);
  CHECK(!model_passes("softmax", e, y));
}

TEST_CASE("-65504 where -inf is right is a wrong class") {
  // A masked score of log_softmax in f16.
  Evidence e;
  e.dtype = DType::f16;
  const double inf = std::numeric_limits<double>::infinity();
  e.inputs["self"] = {{1, 3}, {1, 1, -inf}};
  e.reference = {{1, 3}, {std::log(0.5), std::log(0.5), -inf}};
  CHECK(model_passes("log_softmax", e, {std::log(0.5), std::log(0.5), -inf}));
  const OutputComparison c =
      compared(e, find_error_model("log_softmax")->bound(e), {std::log(0.5), std::log(0.5), -65504},
               {std::log(0.5), std::log(0.5), -inf});
  CHECK(c.classes.inf == 1);
}

TEST_CASE("f64 computed as f32 is a downgrade, f64 in another order is not") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Product product(8, 256, 8, Fill::normal, DType::f64, seed);
    const OutputComparison as_f32 = product.compare_with(product.on_device(in_order));
    CHECK(as_f32.bad > 0);
    CHECK(as_f32.downgrade == "f32 arithmetic");
    std::vector<double> reversed_sum;
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t j = 0; j < 8; ++j) {
        double sum = 0;
        for (std::size_t l = 256; l > 0; --l)
          sum += product.a[i * 256 + l - 1] * product.b[(l - 1) * 8 + j];
        reversed_sum.push_back(sum);
      }
    CHECK(passes(product.compare_with(reversed_sum)));
  }
}

TEST_CASE("layer_norm by E[x^2] - mu^2 is not accepted at a large mean, two passes are") {
  const std::size_t k = 256, rows = 8;
  Evidence e;
  e.dtype = DType::f32;
  std::vector<double> x = operand(Fill::normal, DType::f32, rows * k, 5, "input");
  for (double& v : x) v = round_to(DType::f32, v + 300);
  e.inputs["input"] = {{8, 256}, x};
  e.reference.sizes = {8, 256};
  e.attributes["kind"] = "layer";
  e.scalars = {{"normalized_shape", {256}}, {"eps", {1e-5}}};
  std::vector<double> two_pass, one_pass;
  for (std::size_t row = 0; row < rows; ++row) {
    double mu = 0, v = 0;
    Terms f(k), squares(k), centred(k);
    for (std::size_t i = 0; i < k; ++i) mu += x[row * k + i] / k;
    for (std::size_t i = 0; i < k; ++i) v += (x[row * k + i] - mu) * (x[row * k + i] - mu) / k;
    for (std::size_t i = 0; i < k; ++i) {
      e.reference.data.push_back((x[row * k + i] - mu) / std::sqrt(v + 1e-5));
      f[i] = static_cast<float>(x[row * k + i]);
      squares[i] = f[i] * f[i];
    }
    const float mean = in_order(f) / k;
    for (std::size_t i = 0; i < k; ++i) centred[i] = (f[i] - mean) * (f[i] - mean);
    const float good = in_order(centred) / k, bad = in_order(squares) / k - mean * mean;
    for (std::size_t i = 0; i < k; ++i) {
      two_pass.push_back((f[i] - mean) / std::sqrt(good + 1e-5f));
      one_pass.push_back((f[i] - mean) / std::sqrt(bad + 1e-5f));
    }
  }
  CHECK(model_passes("normalize", e, two_pass));
  CHECK(!model_passes("normalize", e, one_pass));
}
