#include "lib/spec/argument_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "lib/base/bind.h"
#include "lib/base/case_parser.h"
#include "lib/base/text.h"
#include "lib/spec/values_reader.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

bool is_word_type(SchemaBase base) {
  return base == SchemaBase::scalar_type || base == SchemaBase::layout ||
         base == SchemaBase::memory_format || base == SchemaBase::device;
}

// Tensor texts begin with a dtype; whatever else a plain scalar begins with is a number.
bool looks_like_number(const YamlNode& node) {
  static constexpr std::array<std::string_view, 4> k_words = {"true", "false", "nan", "inf"};
  if (node.kind != YamlNode::Kind::plain || node.text.empty()) return false;
  return std::string_view("0123456789-.(").find(node.text[0]) != std::string_view::npos ||
         std::find(k_words.begin(), k_words.end(), node.text) != k_words.end();
}

// One entry of `dims`: what it is tied to, and how (docs/spec-format.md).
struct DimText {
  bool bounded = false;       // "<=h"
  std::string_view relation;  // "b*s", "h", "4"
  std::int64_t step = 1;      // "c%4"
};

bool is_name(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) return false;
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

std::optional<DimText> parse_dim(std::string_view text) {
  DimText dim;
  if (text.starts_with("<=")) {
    dim.bounded = true;
    text.remove_prefix(2);
  }
  if (const auto percent = text.find('%'); percent != std::string_view::npos) {
    const auto step = parse_int(text.substr(percent + 1));
    if (!step || *step < 1) return std::nullopt;
    dim.step = *step;
    text = text.substr(0, percent);
  }
  dim.relation = text;
  for (;;) {
    const auto end = text.find_first_of("*+");
    const std::string_view term = text.substr(0, end);
    const auto number = parse_int(term);
    if (!is_name(term) && !(number && *number >= 0)) return std::nullopt;
    if (end == std::string_view::npos) return dim;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::optional<TensorDesc> read_tensor_text(const YamlNode& node, const std::string& what,
                                           Diagnostics& diagnostics) {
  if (!node.is_scalar()) {
    complain_expected(node, what, "a tensor such as f32[2,3]", diagnostics);
    return std::nullopt;
  }
  try {
    TensorDesc desc = parse_tensor(node.text);
    if (numel(desc) && storage_elements(desc)) return desc;
    complain(node, what + ": strides must not be negative, and sizes must not overflow 63 bits",
             diagnostics);
  } catch (const Error& error) {
    complain(node, what + ": " + error.what(), diagnostics);
  }
  return std::nullopt;
}

std::optional<Value> ArgumentReader::read(const YamlNode& node, const SchemaType& type,
                                          const std::string& path) {
  if (node.kind != YamlNode::Kind::sequence) return read_element(node, type.base, path);
  if (!type.list) {
    complain_expected(node, path, type_text(type), diagnostics_);
    return std::nullopt;
  }
  List list;
  bool complete = true;
  for (std::size_t i = 0; i < node.values.size(); ++i) {
    if (auto value = read_element(node.values[i], type.base, fmt::format("{}.{}", path, i)))
      list.push_back(std::move(*value));
    else
      complete = false;
  }
  if (!complete) return std::nullopt;
  return Value{std::move(list)};
}

std::optional<Value> ArgumentReader::read_element(const YamlNode& node, SchemaBase base,
                                                  const std::string& path) {
  if (node.kind == YamlNode::Kind::null) return Value{None{}};
  const bool tensor = base == SchemaBase::tensor;
  if (tensor && node.kind == YamlNode::Kind::map) return read_tensor_map(node, path);
  if (tensor && node.is_scalar() && !looks_like_number(node)) {
    auto desc = read_tensor_text(node, path, diagnostics_);
    if (!desc) return std::nullopt;
    TensorArg arg;
    arg.desc = std::move(*desc);
    return Value{std::move(arg)};
  }
  return read_scalar(node, base, path);
}

std::optional<Value> ArgumentReader::read_tensor_map(const YamlNode& node,
                                                     const std::string& path) {
  MapReader map(node, path, diagnostics_);
  TensorArg tensor;
  std::optional<TensorDesc> desc;
  if (const YamlNode* text = map.require("tensor"))
    desc = read_tensor_text(*text, path, diagnostics_);
  if (desc) tensor.desc = *desc;
  const YamlNode* dims = map.find("dims");
  if (dims && desc) read_dims(*dims, path, tensor);
  if (const YamlNode* grad = map.find("grad"))
    tensor.requires_grad = read_bool(*grad, path + ".grad", diagnostics_).value_or(false);
  if (const YamlNode* param = map.find("param"))
    tensor.parameter = read_bool(*param, path + ".param", diagnostics_).value_or(false);
  const YamlNode* values = map.find("values");
  if (values && desc) {
    ValuesContext context;
    context.desc = &tensor.desc;
    context.folder = &folder_;
    tensor.values = read_values(*values, path + ".values", context, diagnostics_);
  }
  static constexpr std::array<std::string_view, 1> k_device = {"cpu"};
  if (const YamlNode* device = map.find("device"))
    tensor.on_cpu = read_word(*device, path + ".device", k_device, diagnostics_).has_value();
  static constexpr std::array<std::string_view, 1> k_storage = {"unknown"};
  if (const YamlNode* storage = map.find("storage"))
    tensor.storage_unknown =
        read_word(*storage, path + ".storage", k_storage, diagnostics_).has_value();
  map.not_supported("memory_format", "write the strides, as in f32[1,3,4,4;48,1,12,3]");
  map.not_supported("storage_size", "the storage is as large as the tensor needs");
  map.not_supported("view", "record the call on the materialised tensor");
  map.not_supported("quantizer", "quantised tensors cannot be made yet");
  map.not_supported("layout", "only strided tensors can be made yet");
  map.finish();
  if (!desc) return std::nullopt;
  return Value{std::move(tensor)};
}

void ArgumentReader::read_dims(const YamlNode& node, const std::string& path, TensorArg& tensor) {
  const std::string what = path + ".dims";
  const auto items = read_list(node, what, diagnostics_);
  if (node.kind != YamlNode::Kind::sequence) return;
  const auto& sizes = tensor.desc.sizes;
  if (items.size() != sizes.size()) {
    complain(node,
             fmt::format("{}: expected {} names, one per dim, found {}", what, sizes.size(),
                         items.size()),
             diagnostics_);
    return;
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto text = read_text(items[i], what, diagnostics_);
    if (!text) continue;
    tie(items[i], what, *text, sizes[i]);
    tensor.dims.push_back(*text);
  }
}

void ArgumentReader::tie(const YamlNode& node, const std::string& path, const std::string& dim,
                         std::int64_t size) {
  const auto parsed = parse_dim(dim);
  if (!parsed) {
    complain_expected(node, path, "a name, a number, or one of b*s, c%4, <=h", diagnostics_);
    return;
  }
  if (size % parsed->step != 0)
    complain(node, fmt::format("{}: {} is no multiple of {}", path, size, parsed->step),
             diagnostics_);
  if (parsed->bounded) return;
  std::optional<std::int64_t> expected = parse_int(parsed->relation);
  if (is_name(parsed->relation)) {
    const auto [known, added] = dim_sizes_.emplace(parsed->relation, size);
    if (!added) expected = known->second;
  }
  if (expected && *expected != size)
    complain(node,
             fmt::format("{}: {} means size {} in this call, found {}", path, excerpt(dim),
                         *expected, size),
             diagnostics_);
}

std::optional<Value> ArgumentReader::read_scalar(const YamlNode& node, SchemaBase base,
                                                 const std::string& path) {
  if (!node.is_scalar()) {
    complain_expected(node, path, type_text({.base = base}), diagnostics_);
    return std::nullopt;
  }
  if (is_word_type(base)) return Value{Word{node.text}};
  if (base == SchemaBase::string || node.kind == YamlNode::Kind::quoted) return Value{node.text};
  if (node.text.starts_with(".") || node.text.starts_with("-."))  // YAML's .nan and .inf
    if (const auto number = parse_number(node.text)) return Value{*number};
  try {
    return parse_value(node.text);
  } catch (const Error& error) {
    complain(node, path + ": " + error.what(), diagnostics_);
    return std::nullopt;
  }
}

}  // namespace opreplay
