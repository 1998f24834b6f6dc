#include "lib/base/fill.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>
#include <string>

#include "lib/base/numeric.h"
#include "lib/base/random.h"
#include "opreplay/error.h"
#include "tests/support/fnv.h"

using namespace opreplay;

namespace {

constexpr std::uint64_t k_key = 0x0123456789abcdef;

std::vector<std::byte> filled(const Values& recipe, const TensorDesc& desc,
                              std::uint64_t key = k_key) {
  std::vector<std::byte> storage(static_cast<std::size_t>(storage_elements(desc).value()) *
                                 size_of(desc.dtype));
  fill(recipe, desc, key, storage);
  return storage;
}

std::vector<double> numbers(const Values& recipe, const TensorDesc& desc,
                            std::uint64_t key = k_key) {
  return load_elements(desc.dtype, filled(recipe, desc, key));
}

Values recipe(Dist dist) {
  Values values;
  values.dist = dist;
  return values;
}

Values normal(double mean, double std) {
  Values values = recipe(Dist::normal);
  values.mean = mean;
  values.std = std;
  return values;
}

Values range(Dist dist, double low, double high) {
  Values values = recipe(dist);
  values.low = low;
  values.high = high;
  return values;
}

Values placed(Where where, double value, std::vector<std::int64_t> index = {}) {
  Values values = recipe(Dist::uniform);
  values.places.push_back({where, std::move(index), value});
  return values;
}

Values recipe_called(const std::string& name) {
  if (name == "normal") return recipe(Dist::normal);
  if (name == "normal(3,0.7)") return normal(3, 0.7);
  if (name == "uniform") return recipe(Dist::uniform);
  if (name == "uniform(-2,5)") return range(Dist::uniform, -2, 5);
  if (name == "randint(-10,1000)") return range(Dist::randint, -10, 1000);
  if (name == "permutation") return recipe(Dist::permutation);
  if (name == "labels") return recipe(Dist::labels);
  if (name == "signs") return recipe(Dist::signs);
  REQUIRE(name == "bernoulli(0.3)");
  Values values = recipe(Dist::bernoulli);
  values.p = 0.3;
  return values;
}

std::vector<std::size_t> places_of(const std::vector<double>& data, double value) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < data.size(); ++i)
    if (data[i] == value) out.push_back(i);
  return out;
}

}  // namespace

TEST_CASE("philox gives the known answers of the Random123 distribution") {
  // Random123 1.14, tests/kat_vectors, lines "philox4x32 10".
  const auto words = [](std::uint64_t key, std::uint64_t low, std::uint64_t high) {
    const PhiloxBlock block = philox(key, low, high);
    return std::vector<std::uint32_t>(block.word, block.word + 4);
  };
  using Words = std::vector<std::uint32_t>;
  CHECK(words(0, 0, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::uint64_t ones = ~std::uint64_t{0};
  CHECK(words(ones, ones, ones) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(words(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("streams of different tensors and seeds differ") {
  CHECK(stream_key(0, "self") != stream_key(0, "other"));
  CHECK(stream_key(0, "self") != stream_key(1, "self"));
  CHECK(stream_key(7, "tensors.1") == stream_key(7, "tensors.1"));
}

TEST_CASE("golden bytes of every distribution") {
  // From tests/data/oracle/fill_golden.py, an implementation of its own.
  std::ifstream file(OPREPLAY_TEST_DATA "/oracle/fill_golden.txt");
  std::string line;
  int rows = 0;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name, type, hash;
    words >> name >> type >> hash;
    INFO(name << " " << type);
    const TensorDesc desc = make_desc(parse_dtype(type).value(), {1000});
    const std::vector<std::byte> bytes = filled(recipe_called(name), desc);
    const std::vector<double> got = load_elements(desc.dtype, bytes);
    double expected;
    for (std::size_t i = 0; words >> expected; ++i) CHECK(got[i] == expected);
    std::ostringstream hex;
    hex << std::hex;
    hex.fill('0');
    hex.width(16);
    hex << test::fnv1a(bytes);
    CHECK(hex.str() == hash);
    ++rows;
  }
  CHECK(rows == 12);
}

TEST_CASE("normal numbers have the moments and quantiles of the normal distribution") {
  const std::size_t n = 200000;
  std::vector<double> x =
      numbers(recipe(Dist::normal), make_desc(DType::f32, {static_cast<std::int64_t>(n)}));
  double sum = 0, squares = 0, fourth = 0;
  for (const double v : x) {
    sum += v;
    squares += v * v;
    fourth += v * v * v * v;
  }
  const double count = static_cast<double>(n), sigma = 1 / std::sqrt(count);
  CHECK(std::abs(sum / count) < 5 * sigma);
  CHECK(std::abs(squares / count - 1) < 5 * std::sqrt(2.0) * sigma);
  CHECK(std::abs(fourth / count - 3) < 5 * std::sqrt(96.0) * sigma);
  std::sort(x.begin(), x.end());
  // Shares below z from statistics.NormalDist().cdf(z) of Python.
  const double z[] = {-3, -2, -1, 0, 1, 2, 3};
  const double share[] = {0.0013498980316301035, 0.0227501319481792, 0.15865525393145702, 0.5,
                          0.841344746068543,     0.9772498680518208, 0.9986501019683699};
  for (int i = 0; i < 7; ++i) {
    const auto below = std::lower_bound(x.begin(), x.end(), z[i]) - x.begin();
    const double spread = std::sqrt(share[i] * (1 - share[i])) * sigma;
    CHECK(std::abs(static_cast<double>(below) / count - share[i]) < 5 * spread);
  }
}

TEST_CASE("the normal table is the inverse of the distribution function, into its tails") {
  // A word is a sign and 63 bits of tail probability in units of 2^-64. Quantiles from
  // statistics.NormalDist().inv_cdf(p) of Python.
  const NormalTable& table = NormalTable::instance();
  const auto quantile = [&](double tail) {
    return table(static_cast<std::uint64_t>(tail * 0x1p64));
  };
  CHECK(quantile(0.25) == Approx(0.6744897501960817).margin(1e-9));
  CHECK(quantile(0.025) == Approx(1.9599639845400538).margin(5e-6));
  CHECK(quantile(0.001) == Approx(3.0902323061678136).margin(5e-6));
  CHECK(quantile(1e-6) == Approx(4.753424308822899).margin(5e-6));
  CHECK(quantile(1e-9) == Approx(5.9978070150076865).margin(5e-6));
  CHECK(table(0) == Approx(6.230260137989043).margin(1e-9));
  CHECK(table(std::uint64_t{1} << 63) == Approx(-6.230260137989043).margin(1e-9));
  CHECK(std::abs(table((std::uint64_t{1} << 63) - 1)) < 1e-8);
}

TEST_CASE("a value depends on the logical index alone") {
  const Values values = recipe(Dist::normal);
  const std::vector<double> dense = numbers(values, make_desc(DType::f32, {3, 5}));

  TensorDesc permuted = make_desc(DType::f32, {3, 5});
  permuted.strides = {1, 4};  // one element of gap per column
  permuted.offset = 7;
  const std::vector<double> storage = numbers(values, permuted);
  std::set<std::size_t> reached;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 5; ++j) {
      const std::size_t at = 7 + i + 4 * j;
      CHECK(storage[at] == dense[i * 5 + j]);
      reached.insert(at);
    }
  for (std::size_t at = 0; at < storage.size(); ++at) {
    if (reached.count(at) != 0) continue;
    CHECK(storage[at] != 0);
    CHECK(std::find(dense.begin(), dense.end(), storage[at]) == dense.end());
  }
}

TEST_CASE("long strided tensors equal dense ones element by element") {
  const TensorDesc dense = make_desc(DType::f16, {50, 70});
  TensorDesc strided = dense;
  strided.strides = {2, 101};
  strided.offset = 3;
  const std::vector<double> expected = numbers(recipe(Dist::uniform), dense);
  const std::vector<double> storage = numbers(recipe(Dist::uniform), strided);
  bool equal = true;
  for (std::size_t i = 0; i < 50; ++i)
    for (std::size_t j = 0; j < 70; ++j)
      equal = equal && storage[3 + 2 * i + 101 * j] == expected[i * 70 + j];
  CHECK(equal);
}

TEST_CASE("an expanded tensor holds the elements of index 0 along the shared dim") {
  TensorDesc expanded = make_desc(DType::f32, {4, 3});
  expanded.strides = {0, 1};
  const std::vector<double> dense = numbers(recipe(Dist::normal), make_desc(DType::f32, {4, 3}));
  CHECK(numbers(recipe(Dist::normal), expanded) ==
        std::vector<double>(dense.begin(), dense.begin() + 3));
  expanded.sizes = {3, 1000000000, 1000000};  // not walked element by element
  expanded.strides = {1, 0, 0};
  CHECK(numbers(recipe(Dist::normal), expanded).size() == 3);
}

TEST_CASE("gaps of labels go on counting, of permutations stay in range") {
  TensorDesc gapped = make_desc(DType::i64, {4});
  gapped.strides = {2};
  CHECK(numbers(recipe(Dist::labels), gapped) == std::vector<double>{0, 5, 1, 7, 2, 9, 3});
  for (const double v : numbers(recipe(Dist::permutation), gapped)) CHECK((v >= 0 && v < 4));
}

TEST_CASE("labels wrap at what the dtype holds exactly") {
  const auto largest = [](DType dtype) {
    const std::vector<double> x = numbers(recipe(Dist::labels), make_desc(dtype, {3000}));
    return *std::max_element(x.begin(), x.end());
  };
  CHECK(largest(DType::f32) == 2999);
  CHECK(largest(DType::f16) == 2047);  // 11 bits
  CHECK(largest(DType::bf16) == 255);  // 8 bits
  CHECK(largest(DType::f8e4m3fn) == 15);
  CHECK(largest(DType::u8) == 255);
  CHECK(largest(DType::i8) == 127);
  CHECK(largest(DType::boolean) == 1);
}

TEST_CASE("a permutation holds each number once, signs are balanced") {
  std::vector<double> order = numbers(recipe(Dist::permutation), make_desc(DType::i64, {37, 27}));
  CHECK(!std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  std::vector<double> expected(999);
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(order == expected);

  const std::vector<double> signs = numbers(recipe(Dist::signs), make_desc(DType::bf16, {1000}));
  CHECK(std::count(signs.begin(), signs.end(), 1.0) == 500);
  CHECK(std::count(signs.begin(), signs.end(), -1.0) == 500);
}

TEST_CASE("randint covers its range exactly, also beyond 2^53") {
  const std::vector<double> dice =
      numbers(range(Dist::randint, 1, 7), make_desc(DType::i32, {6000}));
  CHECK(std::set<double>(dice.begin(), dice.end()) == std::set<double>{1, 2, 3, 4, 5, 6});

  const std::vector<std::byte> bytes =
      filled(range(Dist::randint, -0x1p63, 0x1p63), make_desc(DType::i64, {1000}));
  std::vector<std::int64_t> wide(1000);
  std::memcpy(wide.data(), bytes.data(), bytes.size());
  const auto odd = std::count_if(wide.begin(), wide.end(), [](std::int64_t v) { return v & 1; });
  CHECK(std::abs(odd - 500) < 5 * 16);  // low bits live: 5 sigma of a fair coin
  const auto negative =
      std::count_if(wide.begin(), wide.end(), [](std::int64_t v) { return v < 0; });
  CHECK(std::abs(negative - 500) < 5 * 16);

  const std::vector<double> none = numbers(range(Dist::randint, 0, 0), make_desc(DType::i64, {3}));
  CHECK(none == std::vector<double>{0, 0, 0});
}

TEST_CASE("scale_word is the high half of the 128-bit product") {
  // Products by hand in Python: (w * r) >> 64.
  CHECK(scale_word(0xffffffffffffffff, 0xffffffffffffffff) == 0xfffffffffffffffe);
  CHECK(scale_word(0x123456789abcdef0, 0xfedcba9876543210) == 0x121fa00ad77d7422);
  CHECK(scale_word(0xffffffffffffffff, 7) == 6);
  CHECK(scale_word(42, 0) == 42);
}

TEST_CASE("min and max hold after rounding") {
  Values values = normal(0, 10);
  values.min = -0.1;
  values.max = 0.1;
  for (const DType dtype : {DType::f16, DType::bf16, DType::f8e4m3fn, DType::f32}) {
    const std::vector<double> x = numbers(values, make_desc(dtype, {500}));
    CHECK(*std::max_element(x.begin(), x.end()) <= 0.1);
    CHECK(*std::min_element(x.begin(), x.end()) >= -0.1);
    CHECK(*std::max_element(x.begin(), x.end()) > 0.09);
  }
  Values ints = range(Dist::randint, -100, 100);
  ints.min = -1.5;
  const std::vector<double> clamped = numbers(ints, make_desc(DType::i64, {500}));
  CHECK(*std::min_element(clamped.begin(), clamped.end()) == -1);
}

TEST_CASE("a distribution never gives infinity") {
  const std::vector<double> x = numbers(normal(0, 1e6), make_desc(DType::f16, {1000}));
  CHECK(*std::max_element(x.begin(), x.end()) == 65504);
  for (const double v : numbers(normal(0, 1e6), make_desc(DType::f8e4m3fn, {1000}))) CHECK(v == v);
}

TEST_CASE("subnormal values are kept") {
  const std::vector<double> x = numbers(normal(0, 1e-40), make_desc(DType::f32, {100}));
  CHECK(std::count(x.begin(), x.end(), 0.0) == 0);
}

TEST_CASE("places lie where they say") {
  const double v = 17;  // outside [0, 1)
  const TensorDesc desc = make_desc(DType::f32, {3, 4});
  const auto at = [&](const Values& values) { return places_of(numbers(values, desc), v); };
  using At = std::vector<std::size_t>;
  CHECK(at(placed(Where::first, v)) == At{0});
  CHECK(at(placed(Where::middle, v)) == At{6});
  CHECK(at(placed(Where::last, v)) == At{11});
  CHECK(at(placed(Where::index, v, {2, 1})) == At{9});
  CHECK(at(placed(Where::all, v)).size() == 12);
  const At rows = at(placed(Where::one_per_row, v));
  REQUIRE(rows.size() == 3);
  for (std::size_t r = 0; r < 3; ++r) CHECK(rows[r] / 4 == r);

  TensorDesc strided = desc;
  strided.strides = {1, 5};
  strided.offset = 2;
  CHECK(places_of(numbers(placed(Where::last, v), strided), v) == At{2 + 2 + 15});
  CHECK(places_of(numbers(placed(Where::all, v), strided), v).size() == 12);  // not in the gaps

  const TensorDesc empty = make_desc(DType::f32, {0, 4});
  CHECK(numbers(placed(Where::first, v), empty).empty());
  CHECK_THROWS_WITH(numbers(placed(Where::index, v, {3, 0}), desc),
                    "place at [3,0] is no element of f32[3,4]; give one index per dim, within its "
                    "size");
  CHECK_THROWS_AS(numbers(placed(Where::index, v, {0}), desc), Error);
}

TEST_CASE("literal data is taken exactly and its length is checked") {
  Values values;
  values.kind = Values::Kind::data;
  values.int_data = {(std::int64_t{1} << 53) + 1, -7, 0};
  const std::vector<std::byte> bytes = filled(values, make_desc(DType::i64, {3}));
  std::int64_t first;
  std::memcpy(&first, bytes.data(), sizeof first);
  CHECK(first == (std::int64_t{1} << 53) + 1);
  CHECK_THROWS_AS(filled(values, make_desc(DType::i64, {4})), Error);

  Values reals;
  reals.kind = Values::Kind::data;
  reals.data = {1, std::nan(""), -INFINITY};
  const std::vector<double> x = numbers(reals, make_desc(DType::f16, {3}));
  CHECK(x[0] == 1);
  CHECK(std::isnan(x[1]));
  CHECK(x[2] == -INFINITY);
}

TEST_CASE("constants fill everything; complex constants and places are real") {
  Values values;
  values.kind = Values::Kind::fill;
  values.fill = 0.5;
  values.places.push_back({Where::last, {}, -3});
  CHECK(numbers(values, make_desc(DType::f64, {3})) == std::vector<double>{0.5, 0.5, -3});
  CHECK(numbers(values, make_desc(DType::c64, {2})) == std::vector<double>{0.5, 0, -3, 0});
}

TEST_CASE("complex tensors are two components per element") {
  const std::vector<double> real = numbers(recipe(Dist::normal), make_desc(DType::f32, {10}));
  CHECK(numbers(recipe(Dist::normal), make_desc(DType::c64, {5})) == real);
}

TEST_CASE("bool tensors of a real distribution are fair coins") {
  const std::vector<double> x = numbers(recipe(Dist::normal), make_desc(DType::boolean, {1000}));
  CHECK(std::abs(std::count(x.begin(), x.end(), 1.0) - 500) < 5 * 16);
}
