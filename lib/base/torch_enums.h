#pragma once
/// Words for torch's enums in torch's numbering, which is part of its serialised formats.
/// Sources: torch/headeronly/core/{ScalarType,Layout,MemoryFormat}.h.

#include <array>
#include <string_view>

namespace opreplay {

/// By c10::ScalarType; empty where opreplay has no such dtype.
inline constexpr std::array<std::string_view, 30> k_scalar_type_words = {
    "u8",   "i8",   "i16",   "i32",    "i64",      "f16",  "f32", "f64", "c32", "c64",
    "c128", "bool", "qint8", "quint8", "qint32",   "bf16", "",    "",    "",    "",
    "",     "",     "",      "f8e5m2", "f8e4m3fn", "",     "",    "u16", "u32", "u64"};

/// By c10::Layout.
inline constexpr std::array<std::string_view, 8> k_layout_words = {
    "strided",    "sparse_coo", "sparse_csr", "mkldnn",
    "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"};

/// By c10::MemoryFormat.
inline constexpr std::array<std::string_view, 4> k_memory_format_words = {
    "contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};

}  // namespace opreplay
