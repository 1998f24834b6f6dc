#include "lib/base/numeric.h"

#include <cassert>
#include <cstring>

namespace opreplay {
namespace {

/// How a binary format narrower than f64 packs its bits.
struct Packing {
  int mantissa;            ///< stored mantissa bits
  int min_exponent;        ///< of the smallest normal number
  std::uint32_t overflow;  ///< the first code beyond the largest finite number
  std::uint32_t infinity;  ///< code of infinity; e4m3fn gives its largest number
  std::uint32_t nan;       ///< the quiet NaN that is stored
  int sign;                ///< position of the sign bit
};

constexpr Packing k_f32{23, -126, 0x7f800000, 0x7f800000, 0x7fc00000, 31};
constexpr Packing k_f16{10, -14, 0x7c00, 0x7c00, 0x7e00, 15};
constexpr Packing k_bf16{7, -126, 0x7f80, 0x7f80, 0x7fc0, 15};
constexpr Packing k_f8e4m3fn{3, -6, 0x7f, 0x7e, 0x7f, 7};
constexpr Packing k_f8e5m2{2, -14, 0x7c, 0x7c, 0x7f, 7};

constexpr std::uint64_t k_mantissa_f64 = (std::uint64_t{1} << 52) - 1;

std::uint32_t encode(double value, const Packing& format) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint32_t>(bits >> 63) << format.sign;
  const int field = static_cast<int>((bits >> 52) & 0x7ff);
  if (field == 0x7ff) return sign | ((bits & k_mantissa_f64) != 0 ? format.nan : format.infinity);
  if (field == 0) return sign;  // f64's subnormals are far below half of any smallest number

  const int exponent = field - 1023;
  const bool normal = exponent >= format.min_exponent;
  const int shift = 52 - format.mantissa + (normal ? 0 : format.min_exponent - exponent);
  if (shift > 54) return sign;
  const std::uint64_t significand = (bits & k_mantissa_f64) | (std::uint64_t{1} << 52);
  std::uint64_t kept = significand >> shift;
  const std::uint64_t rest = significand & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  // The implicit bit in `kept` adds one to the exponent field; so does a carry out of the mantissa.
  const std::uint64_t base =
      normal ? static_cast<std::uint64_t>(exponent - format.min_exponent) << format.mantissa : 0;
  const std::uint64_t code = base + kept;
  return sign | (code >= format.overflow ? format.infinity : static_cast<std::uint32_t>(code));
}

double decode(std::uint32_t code, const Packing& format) {
  const std::uint64_t sign = static_cast<std::uint64_t>(code >> format.sign) << 63;
  const std::uint32_t magnitude = code & ((std::uint32_t{1} << format.sign) - 1);
  if (magnitude >= format.overflow) {
    const bool infinite = magnitude == format.infinity;
    const double special = infinite ? std::numeric_limits<double>::infinity()
                                    : std::numeric_limits<double>::quiet_NaN();
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(special) | sign);
  }
  const std::uint32_t field = magnitude >> format.mantissa;
  const std::uint64_t mantissa = magnitude & ((std::uint32_t{1} << format.mantissa) - 1);
  double result;
  if (field == 0) {
    const auto scale = static_cast<std::uint64_t>(1023 + format.min_exponent - format.mantissa);
    result = static_cast<double>(mantissa) * std::bit_cast<double>(scale << 52);
  } else {
    const auto exponent = static_cast<std::uint64_t>(1022 + format.min_exponent) + field;
    result = std::bit_cast<double>((exponent << 52) | (mantissa << (52 - format.mantissa)));
  }
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(result) | sign);
}

template <class T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void write(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof value);
}

template <class Int>
Int saturate(double value) {
  // 2^digits is exact in double; the largest Int may not be.
  const double limit =
      2.0 * static_cast<double>(std::uint64_t{1} << (std::numeric_limits<Int>::digits - 1));
  if (!(value == value)) return 0;
  if (value >= limit) return std::numeric_limits<Int>::max();
  if (value <= static_cast<double>(std::numeric_limits<Int>::min()))
    return std::numeric_limits<Int>::min();
  return static_cast<Int>(value);
}

}  // namespace

double load_element(DType dtype, const std::byte* from) {
  switch (dtype) {
    case DType::f64:
      return read<double>(from);
    case DType::f32:
      return decode(read<std::uint32_t>(from), k_f32);
    case DType::f16:
      return f16_value(read<std::uint16_t>(from));
    case DType::bf16:
      return decode(read<std::uint16_t>(from), k_bf16);
    case DType::f8e4m3fn:
      return decode(read<std::uint8_t>(from), k_f8e4m3fn);
    case DType::f8e5m2:
      return decode(read<std::uint8_t>(from), k_f8e5m2);
    case DType::i64:
      return static_cast<double>(read<std::int64_t>(from));
    case DType::i32:
    case DType::qint32:
      return read<std::int32_t>(from);
    case DType::i16:
      return read<std::int16_t>(from);
    case DType::i8:
    case DType::qint8:
      return read<std::int8_t>(from);
    case DType::u8:
    case DType::quint8:
      return read<std::uint8_t>(from);
    case DType::u16:
      return read<std::uint16_t>(from);
    case DType::u32:
      return read<std::uint32_t>(from);
    case DType::u64:
      return static_cast<double>(read<std::uint64_t>(from));
    case DType::boolean:
      return read<std::uint8_t>(from) != 0 ? 1.0 : 0.0;
    case DType::c128:
    case DType::c64:
    case DType::c32:
      break;
  }
  assert(false && "complex elements are loaded by component");
  return 0;
}

void store_element(DType dtype, double value, std::byte* to) {
  switch (dtype) {
    case DType::f64:
      return write(value, to);
    case DType::f32:
      return write(encode(value, k_f32), to);
    case DType::f16:
      return write(static_cast<std::uint16_t>(encode(value, k_f16)), to);
    case DType::bf16:
      return write(static_cast<std::uint16_t>(encode(value, k_bf16)), to);
    case DType::f8e4m3fn:
      return write(static_cast<std::uint8_t>(encode(value, k_f8e4m3fn)), to);
    case DType::f8e5m2:
      return write(static_cast<std::uint8_t>(encode(value, k_f8e5m2)), to);
    case DType::i64:
      return write(saturate<std::int64_t>(value), to);
    case DType::i32:
    case DType::qint32:
      return write(saturate<std::int32_t>(value), to);
    case DType::i16:
      return write(saturate<std::int16_t>(value), to);
    case DType::i8:
    case DType::qint8:
      return write(saturate<std::int8_t>(value), to);
    case DType::u8:
    case DType::quint8:
      return write(saturate<std::uint8_t>(value), to);
    case DType::u16:
      return write(saturate<std::uint16_t>(value), to);
    case DType::u32:
      return write(saturate<std::uint32_t>(value), to);
    case DType::u64:
      return write(saturate<std::uint64_t>(value), to);
    case DType::boolean:
      return write(static_cast<std::uint8_t>(value != 0 ? 1 : 0), to);
    case DType::c128:
    case DType::c64:
    case DType::c32:
      break;
  }
  assert(false && "complex elements are stored by component");
}

std::vector<double> load_elements(DType dtype, std::span<const std::byte> bytes) {
  const DType component = component_type(dtype);
  const std::size_t size = size_of(component);
  std::vector<double> out(bytes.size() / size);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = load_element(component, bytes.data() + i * size);
  return out;
}

double round_to(DType dtype, double value) {
  std::byte buffer[8];
  store_element(dtype, value, buffer);
  return load_element(dtype, buffer);
}

DType component_type(DType dtype) {
  switch (dtype) {
    case DType::c128:
      return DType::f64;
    case DType::c64:
      return DType::f32;
    case DType::c32:
      return DType::f16;
    default:
      return dtype;
  }
}

double ulp(DType dtype, double value) {
  const DType component = component_type(dtype);
  return is_floating(component) ? Spacing(component).at(value) : 1.0;
}

}  // namespace opreplay
