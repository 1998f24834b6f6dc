#include "opreplay/dtype.h"

#include <array>
#include <cassert>

namespace opreplay {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  std::size_t size;
};

constexpr std::array k_rows = {
    Row{DType::f64, "f64", 8},
    Row{DType::f32, "f32", 4},
    Row{DType::f16, "f16", 2},
    Row{DType::bf16, "bf16", 2},
    Row{DType::f8e4m3fn, "f8e4m3fn", 1},
    Row{DType::f8e5m2, "f8e5m2", 1},
    Row{DType::i64, "i64", 8},
    Row{DType::i32, "i32", 4},
    Row{DType::i16, "i16", 2},
    Row{DType::i8, "i8", 1},
    Row{DType::u8, "u8", 1},
    Row{DType::u16, "u16", 2},
    Row{DType::u32, "u32", 4},
    Row{DType::u64, "u64", 8},
    Row{DType::boolean, "bool", 1},
    Row{DType::c128, "c128", 16},
    Row{DType::c64, "c64", 8},
    Row{DType::c32, "c32", 4},
    Row{DType::qint8, "qint8", 1},
    Row{DType::quint8, "quint8", 1},
    Row{DType::qint32, "qint32", 4},
};

constexpr std::array<DType, k_rows.size()> dtypes() {
  std::array<DType, k_rows.size()> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = k_rows[i].dtype;
  return out;
}
constexpr auto k_dtypes = dtypes();

const Row& row(DType dtype) { return k_rows[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::span<const DType> all_dtypes() { return k_dtypes; }

std::string_view name(DType dtype) { return row(dtype).name; }

std::optional<DType> parse_dtype(std::string_view word) {
  for (const Row& r : k_rows)
    if (r.name == word) return r.dtype;
  return std::nullopt;
}

std::size_t size_of(DType dtype) { return row(dtype).size; }

bool is_floating(DType dtype) { return dtype <= DType::f8e5m2; }

bool is_complex(DType dtype) { return dtype >= DType::c128 && dtype <= DType::c32; }

bool is_integral(DType dtype) { return dtype >= DType::i64 && dtype <= DType::u64; }

FloatFormat float_format(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::c128:
      return {53, -1022, 0x1.fffffffffffffp+1023};
    case DType::f32:
    case DType::c64:
      return {24, -126, 0x1.fffffep+127};
    case DType::f16:
    case DType::c32:
      return {11, -14, 65504.0};
    case DType::bf16:
      return {8, -126, 0x1.fep+127};
    case DType::f8e4m3fn:
      return {4, -6, 448.0};
    case DType::f8e5m2:
      return {3, -14, 57344.0};
    default:
      assert(!"not a floating dtype");
      return {};
  }
}

}  // namespace opreplay
