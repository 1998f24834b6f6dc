#include "lib/torch/dtype_map.h"

#include <array>
#include <utility>

namespace opreplay {
namespace {

using c10::ScalarType;

constexpr std::array<std::pair<DType, ScalarType>, 21> k_pairs = {{
    {DType::f64, ScalarType::Double},
    {DType::f32, ScalarType::Float},
    {DType::f16, ScalarType::Half},
    {DType::bf16, ScalarType::BFloat16},
    {DType::f8e4m3fn, ScalarType::Float8_e4m3fn},
    {DType::f8e5m2, ScalarType::Float8_e5m2},
    {DType::i64, ScalarType::Long},
    {DType::i32, ScalarType::Int},
    {DType::i16, ScalarType::Short},
    {DType::i8, ScalarType::Char},
    {DType::u8, ScalarType::Byte},
    {DType::u16, ScalarType::UInt16},
    {DType::u32, ScalarType::UInt32},
    {DType::u64, ScalarType::UInt64},
    {DType::boolean, ScalarType::Bool},
    {DType::c128, ScalarType::ComplexDouble},
    {DType::c64, ScalarType::ComplexFloat},
    {DType::c32, ScalarType::ComplexHalf},
    {DType::qint8, ScalarType::QInt8},
    {DType::quint8, ScalarType::QUInt8},
    {DType::qint32, ScalarType::QInt32},
}};

}  // namespace

c10::ScalarType to_torch(DType dtype) { return k_pairs[static_cast<std::size_t>(dtype)].second; }

std::optional<DType> from_torch(c10::ScalarType type) {
  for (const auto& [ours, theirs] : k_pairs)
    if (theirs == type) return ours;
  return std::nullopt;
}

}  // namespace opreplay
