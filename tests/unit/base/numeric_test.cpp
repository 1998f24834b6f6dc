#include "lib/base/numeric.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <string>

#include "tests/support/fnv.h"

using namespace opreplay;
using test::fnv1a;

namespace {

constexpr double k_inf = std::numeric_limits<double>::infinity();
constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();

/// "f16 decode" -> hash, written by tests/data/oracle/numeric_tables.py from torch.
std::map<std::string, std::string> torch_tables() {
  std::map<std::string, std::string> out;
  std::ifstream file(OPREPLAY_TEST_DATA "/oracle/numeric_tables.txt");
  std::string type, what, hash;
  while (file >> type >> what >> hash) out[type + " " + what] = hash;
  return out;
}

std::string hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

double value_of(DType dtype, std::uint32_t code) {
  std::byte bytes[4];
  std::memcpy(bytes, &code, sizeof bytes);  // little-endian
  return load_element(dtype, bytes);
}

std::uint32_t code_of(DType dtype, double value) {
  std::byte bytes[8] = {};
  store_element(dtype, value, bytes);
  std::uint32_t code;
  std::memcpy(&code, bytes, sizeof code);
  return code;
}

template <class Int>
Int stored(DType dtype, double value) {
  std::byte bytes[8] = {};
  store_element(dtype, value, bytes);
  Int out;
  std::memcpy(&out, bytes, sizeof out);
  return out;
}

struct Narrow {
  DType dtype;
  std::uint32_t codes, largest;
};
constexpr Narrow k_narrow[] = {{DType::f16, 1 << 16, 0x7bff},
                               {DType::bf16, 1 << 16, 0x7f7f},
                               {DType::f8e4m3fn, 1 << 8, 0x7e},
                               {DType::f8e5m2, 1 << 8, 0x7b}};

}  // namespace

TEST_CASE("every pattern of the narrow floats decodes as in torch") {
  const auto tables = torch_tables();
  for (const Narrow& type : k_narrow) {
    std::vector<std::uint32_t> words;
    for (std::uint32_t code = 0; code < type.codes; ++code) {
      const auto value = static_cast<float>(value_of(type.dtype, code));
      words.push_back(value != value ? 0x7fc00000 : std::bit_cast<std::uint32_t>(value));
    }
    INFO(name(type.dtype));
    CHECK(hex(fnv1a(std::as_bytes(std::span(words)))) ==
          tables.at(std::string(name(type.dtype)) + " decode"));
  }
}

TEST_CASE("rounding between all neighbours of the narrow floats is torch's") {
  const auto tables = torch_tables();
  for (const Narrow& type : k_narrow) {
    std::vector<std::byte> codes;
    const std::size_t size = size_of(type.dtype);
    for (std::uint32_t c = 0; c <= type.largest; ++c) {
      const double value = value_of(type.dtype, c);
      const double next =
          c < type.largest ? value_of(type.dtype, c + 1) : 2 * value - value_of(type.dtype, c - 1);
      const auto middle = static_cast<float>((value + next) / 2);
      const float below = std::nextafter(middle, 0.0f);
      const float above = std::nextafter(middle, std::numeric_limits<float>::infinity());
      for (const float x : {middle, below, above, -middle, -below, -above}) {
        codes.resize(codes.size() + size);
        store_element(type.dtype, x, codes.data() + codes.size() - size);
      }
    }
    INFO(name(type.dtype));
    CHECK(hex(fnv1a(codes)) == tables.at(std::string(name(type.dtype)) + " encode"));
  }
}

TEST_CASE("every finite pattern of the narrow floats survives load and store") {
  for (const Narrow& type : k_narrow)
    for (std::uint32_t code = 0; code < type.codes; ++code) {
      const double value = value_of(type.dtype, code);
      if (value != value) continue;
      REQUIRE(code_of(type.dtype, value) == code);
    }
}

TEST_CASE("f32 rounds as the processor does") {
  // The compiler's conversion is another implementation of IEEE 754 round to nearest even.
  std::uint64_t state = 88172645463325252;  // xorshift64, Marsaglia 2003
  for (int i = 0; i < 200000; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    // Exponents around the whole range of f32, subnormals and overflow included.
    const std::uint64_t field = 1023 - 152 + state % 284;
    const double value = std::bit_cast<double>((state & 0x800fffffffffffff) | field << 52);
    REQUIRE(code_of(DType::f32, value) == std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    REQUIRE(value_of(DType::f32, code_of(DType::f32, value)) ==
            static_cast<double>(static_cast<float>(value)));
  }
}

TEST_CASE("a double rounds once, not by way of f32") {
  // 1 + 2^-11 + 2^-40 lies above the middle of 1 and the next f16; as f32 it would be the middle.
  CHECK(round_to(DType::f16, 1 + 0x1p-11 + 0x1p-40) == 1 + 0x1p-10);
  CHECK(round_to(DType::f16, 1 + 0x1p-11) == 1.0);
  CHECK(round_to(DType::bf16, 1 + 0x1p-8 + 0x1p-40) == 1 + 0x1p-7);
}

TEST_CASE("overflow, infinities and NaN") {
  CHECK(round_to(DType::f16, 65519.99) == 65504);
  CHECK(round_to(DType::f16, 65520) == k_inf);
  CHECK(round_to(DType::f16, -1e300) == -k_inf);
  CHECK(round_to(DType::f8e5m2, 61440) == k_inf);
  // No infinity: torch 2.13 saturates (torch.tensor([480., inf]).to(torch.float8_e4m3fn)).
  CHECK(round_to(DType::f8e4m3fn, 480) == 448);
  CHECK(round_to(DType::f8e4m3fn, -k_inf) == -448);
  CHECK(std::isnan(round_to(DType::f8e4m3fn, k_nan)));
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8e5m2}) {
    CHECK(std::isnan(round_to(dtype, k_nan)));
    CHECK(round_to(dtype, -k_inf) == -k_inf);
    CHECK(std::signbit(round_to(dtype, -0.0)));
    CHECK(round_to(dtype, -1e-320) == (dtype == DType::f64 ? -1e-320 : 0.0));
  }
}

TEST_CASE("integers truncate and saturate, NaN becomes 0") {
  CHECK(stored<std::int8_t>(DType::i8, -1.9) == -1);
  CHECK(stored<std::int8_t>(DType::i8, 1e9) == 127);
  CHECK(stored<std::int8_t>(DType::i8, -k_inf) == -128);
  CHECK(stored<std::uint8_t>(DType::u8, -0.5) == 0);
  CHECK(stored<std::uint8_t>(DType::u8, 255.99) == 255);
  CHECK(stored<std::int64_t>(DType::i64, 0x1p63) == std::numeric_limits<std::int64_t>::max());
  CHECK(stored<std::int64_t>(DType::i64, -0x1p63) == std::numeric_limits<std::int64_t>::min());
  CHECK(stored<std::uint64_t>(DType::u64, 0x1p63) == std::uint64_t{1} << 63);
  CHECK(stored<std::uint64_t>(DType::u64, 0x1p64) == std::numeric_limits<std::uint64_t>::max());
  CHECK(stored<std::int32_t>(DType::i32, k_nan) == 0);
  CHECK(stored<std::uint8_t>(DType::boolean, 0.25) == 1);
  CHECK(stored<std::uint8_t>(DType::boolean, -0.0) == 0);
}

TEST_CASE("complex elements load as two doubles") {
  const float values[] = {1.5f, -2, 0, 3};
  CHECK(load_elements(DType::c64, std::as_bytes(std::span(values))) ==
        std::vector<double>{1.5, -2, 0, 3});
}

TEST_CASE("ulp is the gap to the next larger magnitude") {
  // By hand from the formats' definitions.
  CHECK(ulp(DType::f32, 1) == 0x1p-23);
  CHECK(ulp(DType::f32, -2) == 0x1p-22);
  CHECK(ulp(DType::f32, 1.999) == 0x1p-23);
  CHECK(ulp(DType::f32, 0) == 0x1p-149);
  CHECK(ulp(DType::f32, 1e-40) == 0x1p-149);
  CHECK(ulp(DType::f16, 65504) == 32);
  CHECK(ulp(DType::f16, 0x1p-14) == 0x1p-24);
  CHECK(ulp(DType::bf16, 1) == 0x1p-7);
  CHECK(ulp(DType::f8e4m3fn, 448) == 32);
  CHECK(ulp(DType::f8e5m2, 1e-5) == 0x1p-16);
  CHECK(ulp(DType::f64, 1) == 0x1p-52);
  CHECK(ulp(DType::f64, 1e-310) == 0x1p-1074);
  CHECK(ulp(DType::f64, 0x1p-1000) == 0x1p-1052);
  CHECK(ulp(DType::f64, 0x1p-1022) == 0x1p-1074);
  CHECK(ulp(DType::f64, 0x1p-971) == 0x1p-1023);
  CHECK(ulp(DType::c64, 1) == 0x1p-23);
  CHECK(ulp(DType::f32, k_inf) == k_inf);
  CHECK(ulp(DType::i32, 7) == 1);
}
