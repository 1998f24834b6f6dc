#pragma once
/// Element types and what the oracle needs to know about each.
/// Names are those of the case strings (`f32`, `bf16`, `i64`...); values never leave this process
/// as numbers of another project's enum.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace opreplay {

enum class DType : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  f8e4m3fn,
  f8e5m2,
  i64,
  i32,
  i16,
  i8,
  u8,
  u16,
  u32,
  u64,
  boolean,
  c128,
  c64,
  c32,
  qint8,
  quint8,
  qint32,
};

/// Every dtype, in the order of the enum.
std::span<const DType> all_dtypes();

/// Name used in case strings and specs: "f32", "bool".
std::string_view name(DType dtype);

/// Inverse of `name`; nothing if the word is no dtype.
std::optional<DType> parse_dtype(std::string_view word);

/// Bytes of one element.
std::size_t size_of(DType dtype);

/// f64, f32, f16, bf16 and the 8-bit floats; complex types are not floating here.
bool is_floating(DType dtype);
bool is_complex(DType dtype);
/// Signed and unsigned integers; neither bool nor the quantised types.
bool is_integral(DType dtype);

/// A binary floating-point format: `precision` bits including the implicit one, the exponent of the
/// smallest normal number (2^min_exponent) and the largest finite value.
struct FloatFormat {
  int precision;
  int min_exponent;
  double max;
};

/// The format of a floating dtype, or of a complex dtype's component.
/// Source: IEEE 754-2019 table 3.5; OCP 8-bit floating point specification, table 1.
/// Requires is_floating(dtype) || is_complex(dtype).
FloatFormat float_format(DType dtype);

}  // namespace opreplay
