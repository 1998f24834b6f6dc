#pragma once
/// The enums of the export format, which are its own (not c10's), as our words.
/// Source: torch/_export/serde/schema.py: ScalarType, Layout, MemoryFormat.

#include <cstdint>
#include <optional>
#include <string>

#include "opreplay/dtype.h"

namespace opreplay {

/// A dtype of the format, or its name in the format where we have none.
struct ExportDType {
  std::optional<DType> dtype;
  std::string name;  ///< "f32", or "FLOAT8E4M3FNUZ", "dtype number 99"
};
ExportDType export_dtype(std::int64_t number);

inline constexpr std::int64_t k_export_strided = 7;
/// "strided", "sparse_csr"; "layout number 99".
std::string export_layout(std::int64_t number);
/// "channels_last"; nothing for unknown numbers.
std::optional<std::string> export_memory_format(std::int64_t number);

}  // namespace opreplay
