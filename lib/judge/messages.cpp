#include "lib/judge/messages.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>
#include <span>

#include "opreplay/error.h"

namespace opreplay {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

bool contains_any(std::string_view text, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view w) { return text.find(w) != std::string_view::npos; });
}

/// What stands between `before` and `after`; empty if either is missing.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const auto start = text.find(before);
  if (start == std::string_view::npos) return {};
  text.remove_prefix(start + before.size());
  const auto end = text.find(after);
  return end == std::string_view::npos ? std::string_view{} : text.substr(0, end);
}

constexpr std::string_view k_could_not_run = "Could not run '";

/// Dispatch keys that stand for a layout: the operator may well have a kernel for dense tensors.
bool is_layout_key(std::string_view key) {
  constexpr std::array<std::string_view, 4> k_prefixes = {"Sparse", "Quantized", "Mkldnn",
                                                          "NestedTensor"};
  return std::any_of(k_prefixes.begin(), k_prefixes.end(),
                     [&](std::string_view p) { return key.starts_with(p); });
}

std::string_view dispatch_key(std::string_view message) {
  return between(message, "with arguments from the '", "'");
}

constexpr std::array<std::string_view, 8> k_unsupported_words = {
    "not implemented", "not supported", "unsupported",       "does not support",
    "doesn't support", "not support ",  "not yet supported", "only supports"};

// Looked for in this order: "dim" and "size" also occur in texts about types and strides.
constexpr std::array<std::string_view, 22> k_dtype_words = {
    "dtype",   "data type", "scalar type", "scalartype", "'half'", "half ",   "bfloat16", "float16",
    "float32", "float64",   "'float'",     "double",     "'long'", "complex", "boolean",  "'bool'",
    "int64",   "'int'",     "'short'",     "'char'",     "'byte'", "float8"};
constexpr std::array<std::string_view, 11> k_layout_words = {
    "stride", "contiguous", "layout",         "memory format", "memory_format", "channels_last",
    "sparse", "quantized",  "storage offset", "overlap",       "non-dense"};
constexpr std::array<std::string_view, 11> k_shape_words = {
    "dim",   "rank", "shape",    "size",      "batch",       "empty",
    "numel", "0-d",  "elements", "broadcast", "zero-element"};

constexpr std::array<std::string_view, 5> k_out_of_memory_words = {
    "out of memory", "outofmemory", "can't allocate memory", "failed to allocate",
    "memory allocation failed"};

constexpr std::array<std::string_view, 6> k_device_lost_words = {
    "device lost",        "device is lost",     "device_lost",
    "fallen off the bus", "device is poisoned", "device no longer available"};

constexpr std::array<std::string_view, 5> k_not_loaded_words = {
    "not linked with support for", "not compiled with", "when none is available", "without aten_",
    "please register privateuse1hooksinterface"};

}  // namespace

std::string first_line(std::string_view text) {
  constexpr std::string_view k_blank = " \t\r\n";
  const auto start = text.find_first_not_of(k_blank);
  if (start == std::string_view::npos) return {};
  text.remove_prefix(start);
  text = text.substr(0, text.find('\n'));
  return std::string(text.substr(0, text.find_last_not_of(k_blank) + 1));
}

bool says_not_implemented_for(const Raised& raised) {
  return raised.error_class == ErrorClass::not_implemented &&
         raised.message.find("not implemented for '") != std::string::npos;
}

bool says_no_kernel(const Raised& raised) {
  const std::string_view message = raised.message;
  if (message.find(k_could_not_run) != std::string_view::npos)
    return !is_layout_key(dispatch_key(message));
  if (message.find("no fallback function is registered for schema") != std::string_view::npos)
    return true;
  if (raised.error_class != ErrorClass::not_implemented || says_not_implemented_for(raised))
    return false;
  // "convolution_overrideable not implemented. You are likely triggering this with tensor backend
  // other than CPU/CUDA/MKLDNN": the table has an entry whose only content is this text.
  return says_unsupported(raised, {}) == Unsupported::no ||
         message.find("_overrideable not implemented") != std::string_view::npos;
}

std::string missing_kernel(std::string_view message) {
  const auto op = between(message, k_could_not_run, "'");
  const auto key = dispatch_key(message);
  if (op.empty() || key.empty()) return {};
  return std::string(op) + " on " + std::string(key);
}

Unsupported says_unsupported(const Raised& raised, const std::vector<std::string>& patterns) {
  if (raised.message.find(k_could_not_run) != std::string::npos)
    return is_layout_key(dispatch_key(raised.message)) ? Unsupported::layout : Unsupported::no;
  if (says_not_implemented_for(raised)) return Unsupported::dtype;
  const std::string text = lower(raised.message);
  if (!contains_any(text, k_unsupported_words) && !matches_any(patterns, raised.message))
    return Unsupported::no;
  if (contains_any(text, k_dtype_words)) return Unsupported::dtype;
  if (contains_any(text, k_layout_words)) return Unsupported::layout;
  if (contains_any(text, k_shape_words)) return Unsupported::shape;
  return Unsupported::no;
}

bool says_out_of_memory(const Raised& raised) {
  return raised.error_class == ErrorClass::out_of_memory ||
         contains_any(lower(raised.message), k_out_of_memory_words);
}

bool says_device_lost(const Raised& raised) {
  return contains_any(lower(raised.message), k_device_lost_words);
}

bool says_backend_not_loaded(const Raised& raised) {
  return contains_any(lower(raised.message), k_not_loaded_words);
}

bool matches_any(const std::vector<std::string>& patterns, const std::string& text) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    try {
      return std::regex_search(text, std::regex(pattern, std::regex::icase));
    } catch (const std::regex_error& error) {
      throw Error(ExitCode::invalid_input, "profile pattern '" + pattern +
                                               "' is no regular expression: " + error.what() +
                                               "; correct it in the device's profile");
    }
  });
}

}  // namespace opreplay
