#include "lib/model/pt2_enums.h"

#include <fmt/format.h>

namespace opreplay {

ExportDType export_dtype(std::int64_t number) {
  const auto known = [](DType dtype) {
    return ExportDType{dtype, std::string(opreplay::name(dtype))};
  };
  switch (number) {
    case 1:
      return known(DType::u8);
    case 2:
      return known(DType::i8);
    case 3:
      return known(DType::i16);
    case 4:
      return known(DType::i32);
    case 5:
      return known(DType::i64);
    case 6:
      return known(DType::f16);
    case 7:
      return known(DType::f32);
    case 8:
      return known(DType::f64);
    case 9:
      return known(DType::c32);
    case 10:
      return known(DType::c64);
    case 11:
      return known(DType::c128);
    case 12:
      return known(DType::boolean);
    case 13:
      return known(DType::bf16);
    case 28:
      return known(DType::u16);
    case 29:
      return known(DType::f8e4m3fn);
    case 30:
      return known(DType::f8e5m2);
    case 31:
      return {std::nullopt, "FLOAT8E4M3FNUZ"};
    case 32:
      return {std::nullopt, "FLOAT8E5M2FNUZ"};
    case 33:
      return {std::nullopt, "FLOAT8E8M0FNU"};
    case 34:
      return known(DType::u32);
    case 35:
      return known(DType::u64);
    default:
      return {std::nullopt, fmt::format("number {}", number)};
  }
}

std::string export_layout(std::int64_t number) {
  switch (number) {
    case 1:
      return "sparse_coo";
    case 2:
      return "sparse_csr";
    case 3:
      return "sparse_csc";
    case 4:
      return "sparse_bsr";
    case 5:
      return "sparse_bsc";
    case 6:
      return "mkldnn";
    case k_export_strided:
      return "strided";
    default:
      return fmt::format("number {}", number);
  }
}

std::optional<std::string> export_memory_format(std::int64_t number) {
  switch (number) {
    case 1:
      return "contiguous_format";
    case 2:
      return "channels_last";
    case 3:
      return "channels_last_3d";
    case 4:
      return "preserve_format";
    default:
      return std::nullopt;
  }
}

}  // namespace opreplay
