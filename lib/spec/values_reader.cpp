#include "lib/spec/values_reader.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <span>

#include "lib/base/text.h"

namespace opreplay {
namespace {

// Parameters of each distribution, in the order of Dist.
constexpr std::array<std::array<std::string_view, 2>, 7> k_parameters = {{
    {"mean", "std"},
    {"low", "high"},
    {"low", "high"},
    {"p", ""},
    {"", ""},
    {"", ""},
    {"", ""},
}};

class ValuesReader {
 public:
  ValuesReader(const YamlNode& node, const std::string& what, const ValuesContext& context,
               Diagnostics& diagnostics)
      : what_(what), context_(context), diagnostics_(diagnostics), map_(node, what, diagnostics) {}

  Values read() {
    if (!map_.is_map()) return {};
    const YamlNode* dist = map_.find("dist");
    const YamlNode* fill = map_.find("fill");
    const YamlNode* data = map_.find("data");
    const YamlNode* file = map_.find("file");
    const int kinds = (dist != nullptr) + (fill != nullptr) + (data != nullptr) + (file != nullptr);
    if (kinds != 1)
      complain(
          map_.node(),
          fmt::format("{}: expected exactly one of dist, fill, data, file; found {}", what_, kinds),
          diagnostics_);
    if (dist) read_dist(*dist);
    read_parameters();
    if (fill) read_fill(*fill);
    if (data) read_data(*data);
    read_file(file);
    if (const YamlNode* place = map_.find("place")) read_places(*place);
    map_.finish();
    return std::move(values_);
  }

 private:
  std::string at(std::string_view key) const { return fmt::format("{}.{}", what_, key); }

  void read_dist(const YamlNode& node) {
    values_.kind = Values::Kind::dist;
    if (const auto index = read_word(node, at("dist"), k_dist_words, diagnostics_)) {
      values_.dist = static_cast<Dist>(*index);
      dist_known_ = true;
    }
  }

  // A number, or an expression where the context takes them; true if it is a number.
  bool parameter(const char* key, double& into) {
    const YamlNode* node = map_.find(key);
    if (!node) return true;
    if (dist_known_ && !applies(key)) {
      complain(*node,
               fmt::format("{}: {} is no parameter of {}", what_, key,
                           k_dist_words[static_cast<std::size_t>(values_.dist)]),
               diagnostics_);
      return false;
    }
    if (node->is_scalar() && context_.expression && !parse_number(node->text)) {
      context_.expression(key, *node);
      return false;
    }
    const auto number = read_number(*node, at(key), diagnostics_);
    if (!number) return false;
    if (!std::isfinite(*number)) {
      complain_expected(*node, at(key), "a finite number", diagnostics_);
      return false;
    }
    into = *number;
    return true;
  }

  bool applies(std::string_view key) const {
    // A rule's domain says below what distinct numbers must stay; see docs/rules.md.
    if (values_.dist == Dist::permutation && key == "high" && context_.expression) return true;
    for (const std::string_view name : k_parameters[static_cast<std::size_t>(values_.dist)])
      if (name == key) return true;
    return false;
  }

  void read_parameters() {
    const bool normal = parameter("mean", values_.mean) & parameter("std", values_.std);
    const bool range = parameter("low", values_.low) & parameter("high", values_.high);
    parameter("p", values_.p);
    read_clamp("min", values_.min);
    read_clamp("max", values_.max);
    if (!dist_known_) {
      for (const char* key : {"mean", "std", "low", "high", "p", "min", "max"})
        if (const YamlNode* node = map_.find(key))
          complain(*node, fmt::format("{}: {} needs dist", what_, key), diagnostics_);
      return;
    }
    check(!normal || values_.std >= 0, "std must not be negative");
    check(values_.p >= 0 && values_.p <= 1, "p must lie between 0 and 1");
    check(!values_.min || !values_.max || *values_.min <= *values_.max, "min exceeds max");
    if (range && values_.dist == Dist::uniform)
      check(values_.low < values_.high, "low must be less than high");
    if (range && values_.dist == Dist::randint)
      check(values_.low < values_.high && whole(values_.low) && whole(values_.high),
            "low and high must be whole numbers below 2^53, low less than high");
  }

  static bool whole(double number) {
    return number == std::trunc(number) && std::fabs(number) <= 0x1p53;
  }

  void read_clamp(const char* key, std::optional<double>& into) {
    const YamlNode* node = map_.find(key);
    if (!node) return;
    const auto number = read_number(*node, at(key), diagnostics_);
    if (number && std::isnan(*number))
      complain_expected(*node, at(key), "a number that is not NaN", diagnostics_);
    else
      into = number;
  }

  void check(bool ok, std::string_view message) {
    if (!ok) complain(map_.node(), fmt::format("{}: {}", what_, message), diagnostics_);
  }

  void read_fill(const YamlNode& node) {
    values_.kind = Values::Kind::fill;
    values_.fill = read_number(node, at("fill"), diagnostics_).value_or(0);
  }

  void read_data(const YamlNode& node) {
    values_.kind = Values::Kind::data;
    if (!context_.desc) {
      complain(node, at("data") + ": literal data has no place here", diagnostics_);
      return;
    }
    const TensorDesc& desc = *context_.desc;
    const auto items = read_list(node, at("data"), diagnostics_);
    // A complex element is written as two numbers, its real and its imaginary part.
    const std::int64_t wanted = numel(desc).value_or(0) * (is_complex(desc.dtype) ? 2 : 1);
    if (node.kind == YamlNode::Kind::sequence && static_cast<std::int64_t>(items.size()) != wanted)
      complain(node,
               fmt::format("{}: expected {} numbers in row-major order, found {}", at("data"),
                           wanted, items.size()),
               diagnostics_);
    if (is_integral(desc.dtype)) {
      values_.int_data.reserve(items.size());
      for (const YamlNode& item : items)
        values_.int_data.push_back(read_int(item, at("data"), diagnostics_).value_or(0));
      return;
    }
    values_.data.reserve(items.size());
    for (const YamlNode& item : items) values_.data.push_back(element(item, desc.dtype));
  }

  double element(const YamlNode& node, DType dtype) {
    if (dtype == DType::boolean && node.kind == YamlNode::Kind::plain) {
      if (node.text == "true") return 1;
      if (node.text == "false") return 0;
    }
    return read_number(node, at("data"), diagnostics_).value_or(0);
  }

  void read_file(const YamlNode* node) {
    const YamlNode* key = map_.find("key");
    if (!node) {
      if (key) complain(*key, what_ + ": key needs file", diagnostics_);
      return;
    }
    values_.kind = Values::Kind::file;
    if (const auto text = read_text(*node, at("file"), diagnostics_)) {
      values_.file = *text;
      check_file(*node);
    }
    if (!key)
      complain(*node, what_ + ": file needs key, the tensor's name in it", diagnostics_);
    else if (const auto text = read_text(*key, at("key"), diagnostics_))
      values_.key = *text;
  }

  // A spec may come from anybody: its data lies beside it or below, and is never reached through a
  // link.
  void check_file(const YamlNode& node) {
    const auto refuse = [&](std::string_view why) {
      complain(node, fmt::format("{}: {} {}", at("file"), excerpt(values_.file), why),
               diagnostics_);
    };
    if (!context_.folder) return refuse("has no place here");
    const std::filesystem::path path = values_.file;
    if (values_.file.find('\0') != std::string::npos) return refuse("is no file name");
    if (path.empty() || path.is_absolute() || path.has_root_path())
      return refuse("must be a path relative to this file");
    std::filesystem::path walked = *context_.folder;
    for (const auto& part : path) {
      if (part == "..") return refuse("leads out of this file's folder");
      walked /= part;
      std::error_code error;
      if (std::filesystem::is_symlink(std::filesystem::symlink_status(walked, error)))
        return refuse("is reached through a link; copy the file here");
    }
    std::error_code error;
    if (!std::filesystem::is_regular_file(walked, error)) refuse("is not there, or is no file");
  }

  void read_places(const YamlNode& node) {
    if (!context_.desc) {
      complain(node, at("place") + ": has no place here", diagnostics_);
      return;
    }
    for (const YamlNode& item : read_list(node, at("place"), diagnostics_)) {
      MapReader map(item, at("place"), diagnostics_);
      Place place;
      if (const YamlNode* where = map.require("at")) read_where(*where, place);
      if (const YamlNode* value = map.require("value"))
        place.value = read_number(*value, at("place.value"), diagnostics_).value_or(0);
      map.finish();
      values_.places.push_back(std::move(place));
    }
  }

  void read_where(const YamlNode& node, Place& place) {
    if (node.kind != YamlNode::Kind::sequence) {
      if (const auto word = read_word(node, at("place.at"), k_where_words, diagnostics_))
        place.where = static_cast<Where>(*word);
      return;
    }
    place.where = Where::index;
    const auto& sizes = context_.desc->sizes;
    if (node.values.size() != sizes.size()) {
      complain(node,
               fmt::format("{}: expected {} indices, one per dim, found {}", at("place.at"),
                           sizes.size(), node.values.size()),
               diagnostics_);
      return;
    }
    for (std::size_t i = 0; i < sizes.size(); ++i)
      place.index.push_back(
          read_int(node.values[i], at("place.at"), diagnostics_, 0, sizes[i] - 1).value_or(0));
  }

  const std::string& what_;
  const ValuesContext& context_;
  Diagnostics& diagnostics_;
  MapReader map_;
  Values values_;
  bool dist_known_ = false;
};

}  // namespace

Values read_values(const YamlNode& node, const std::string& what, const ValuesContext& context,
                   Diagnostics& diagnostics) {
  return ValuesReader(node, what, context, diagnostics).read();
}

}  // namespace opreplay
