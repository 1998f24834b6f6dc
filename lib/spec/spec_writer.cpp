// to_yaml and write_specs: OpSpec to canonical YAML (format: docs/spec-format.md). Written by hand
// rather than by an emitter, so that short things stay on one line and equal specs give equal
// bytes.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>

#include "lib/base/text.h"
#include "lib/spec/values_reader.h"
#include "opreplay/error.h"
#include "opreplay/spec.h"

namespace opreplay {
namespace {

constexpr std::size_t k_line_length = 100;

// YAML double-quoted. Escapes are YAML's: \xNN is a code point there, so bytes above 0x7f pass.
std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out + '"';
}

// A word where that reads back as the same text, in block and in flow style, else quoted.
std::string word(std::string_view text) {
  const auto inner = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == ':' || c == '/' || c == '-' ||
           c == '+' || c == '*' || c == '<' || c == '=' || c == '@';
  };
  const bool plain = !text.empty() && text.back() != ':' && text != "null" && text != "Null" &&
                     text != "NULL" && std::isalnum(static_cast<unsigned char>(text[0])) != 0 &&
                     std::all_of(text.begin(), text.end(), inner);
  return plain ? std::string(text) : quote(text);
}

std::string number(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  return float_text(value);
}

// As `number`, but whole numbers without ".0": where only doubles can stand.
std::string short_number(double value) {
  std::string text = number(value);
  if (text.ends_with(".0") && text != "-0.0") text.resize(text.size() - 2);
  return text;
}

// Collects "key: value" of a flow map.
class FlowMap {
 public:
  void add(std::string_view key, std::string_view value) {
    entries_.push_back(fmt::format("{}: {}", key, value));
  }
  void add_text(std::string_view key, const std::string& text) {
    if (!text.empty()) add(key, word(text));
  }
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  std::string text() const { return fmt::format("{{{}}}", fmt::join(entries_, ", ")); }
  // Broken before the entries that would pass the line's end; `indent` is the column of the brace.
  std::string text(std::size_t indent) const {
    std::string out = "{";
    std::size_t column = indent + 1;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const std::size_t width = entries_[i].size() + 1;  // with the ',' or '}' that follows
      if (i > 0 && column + 1 + width > k_line_length) {
        out += '\n' + std::string(indent + 1, ' ');
        column = indent + 1;
      } else if (i > 0) {
        out += ' ';
        ++column;
      }
      out += entries_[i];
      out += i + 1 < entries_.size() ? "," : "";
      column += width;
    }
    return out + "}";
  }

 private:
  std::vector<std::string> entries_;
};

template <class Items, class Text>
std::string flow_list(const Items& items, Text text) {
  std::vector<std::string> texts;
  for (const auto& item : items) texts.push_back(text(item));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string place_text(const Place& place) {
  FlowMap map;
  if (place.where == Where::index)
    map.add("at", fmt::format("[{}]", fmt::join(place.index, ", ")));
  else
    map.add("at", k_where_words[static_cast<std::size_t>(place.where)]);
  map.add("value", short_number(place.value));
  return map.text();
}

void add_dist(const Values& values, FlowMap& map) {
  map.add("dist", k_dist_words[static_cast<std::size_t>(values.dist)]);
  switch (values.dist) {
    case Dist::normal:
      if (values.mean != 0 || values.std != 1) {
        map.add("mean", short_number(values.mean));
        map.add("std", short_number(values.std));
      }
      break;
    case Dist::uniform:
    case Dist::randint:
      map.add("low", short_number(values.low));
      map.add("high", short_number(values.high));
      break;
    case Dist::bernoulli:
      map.add("p", short_number(values.p));
      break;
    case Dist::permutation:
    case Dist::labels:
    case Dist::signs:
      break;
  }
  if (values.min) map.add("min", short_number(*values.min));
  if (values.max) map.add("max", short_number(*values.max));
}

std::string values_text(const Values& values, DType dtype) {
  FlowMap map;
  switch (values.kind) {
    case Values::Kind::dist:
      add_dist(values, map);
      break;
    case Values::Kind::fill:
      map.add("fill", short_number(values.fill));
      break;
    case Values::Kind::data:
      map.add("data", is_integral(dtype) ? fmt::format("[{}]", fmt::join(values.int_data, ", "))
                                         : flow_list(values.data, short_number));
      break;
    case Values::Kind::file:
      map.add("file", word(values.file));
      map.add("key", word(values.key));
      break;
  }
  if (!values.places.empty()) map.add("place", flow_list(values.places, place_text));
  return map.text();
}

// One entry if there is nothing beside the geometry.
FlowMap tensor_map(const TensorArg& tensor) {
  FlowMap map;
  map.add("tensor", quote(to_string(tensor.desc)));
  if (!tensor.dims.empty()) map.add("dims", flow_list(tensor.dims, word));
  if (tensor.requires_grad) map.add("grad", "true");
  if (tensor.parameter) map.add("param", "true");
  if (tensor.on_cpu) map.add("device", "cpu");
  if (tensor.storage_unknown) map.add("storage", "unknown");
  if (tensor.values) map.add("values", values_text(*tensor.values, tensor.desc.dtype));
  return map;
}

// A value on one line. `flow`: inside [...], where a tensor's brackets need quotes.
std::string value_text(const Value& value, std::size_t indent, bool flow = false) {
  if (const auto* tensor = value.get<TensorArg>()) {
    const FlowMap map = tensor_map(*tensor);
    if (map.size() > 1) return map.text(indent);
    return flow ? quote(to_string(tensor->desc)) : to_string(tensor->desc);
  }
  if (const auto* text = value.get<std::string>()) return quote(*text);
  if (const auto* list = value.get<List>())
    return flow_list(*list, [indent](const Value& item) { return value_text(item, indent, true); });
  return to_string(value);
}

bool holds_tensor_maps(const List& list) {
  return std::any_of(list.begin(), list.end(), [](const Value& item) {
    const auto* tensor = item.get<TensorArg>();
    return tensor && tensor_map(*tensor).size() > 1;
  });
}

std::string arg_text(const Arg& arg) {
  const std::string head = fmt::format("      {}: ", arg.name);
  const auto* list = arg.value.get<List>();
  if (!list || !holds_tensor_maps(*list)) return head + value_text(arg.value, head.size()) + "\n";
  std::string text = head.substr(0, head.size() - 1) + "\n";
  for (const Value& item : *list) text += "        - " + value_text(item, 10) + "\n";
  return text;
}

std::string site_text(const CallSite& site) {
  FlowMap map;
  map.add_text("module", site.module);
  if (!site.line.empty()) map.add("line", quote(site.line));
  return map.text();
}

std::string call_text(const SpecCall& call) {
  std::string text = fmt::format("  - id: {}\n", id_text(call_id(call.call)));
  text += fmt::format("    count: {}\n", call.count);
  if (!call.at.empty()) text += fmt::format("    at: {}\n", flow_list(call.at, site_text));
  std::vector<std::string_view> phases;
  if (call.forward) phases.push_back("forward");
  if (call.backward) phases.push_back("backward");
  text += fmt::format("    phase: [{}]\n", fmt::join(phases, ", "));
  if (call.replay_backward) text += "    replay_backward: true\n";
  text += call.call.args.empty() ? "    args: {}\n" : "    args:\n";
  for (const Arg& arg : call.call.args) text += arg_text(arg);
  if (!call.results.empty())
    text += fmt::format("    results: {}\n", flow_list(call.results, [](const TensorDesc& desc) {
                          return quote(to_string(desc));
                        }));
  return text;
}

std::string source_text(const SpecSource& source) {
  FlowMap map;
  map.add_text("model", source.model);
  map.add_text("hash", source.hash);
  map.add_text("torch", source.torch);
  map.add_text("capture", source.capture);
  return map.empty() ? "" : fmt::format("source: {}\n", map.text());
}

std::string known_text(const KnownFailure& known) {
  FlowMap map;
  map.add_text("device", known.device);
  if (!known.case_text.empty()) map.add("case", quote(known.case_text));
  map.add_text("reason", known.reason);
  if (!known.why.empty()) map.add("why", quote(known.why));
  if (!known.link.empty()) map.add("link", quote(known.link));
  map.add_text("since", known.since);
  map.add_text("until", known.until);
  return fmt::format("  - {}\n", map.text(4));
}

std::string words_text(std::string_view key, const std::vector<std::string>& words) {
  return words.empty() ? "" : fmt::format("{}: {}\n", key, flow_list(words, word));
}

[[noreturn]] void output_failed(const std::filesystem::path& path, const std::string& why) {
  throw Error(ExitCode::output_failed, fmt::format("cannot write {}: {}", path.string(), why));
}

void write_file(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::path partial = file;
  partial += fmt::format(".{}.partial", ::getpid());
  std::ofstream stream(partial, std::ios::binary | std::ios::trunc);
  stream.write(text.data(), static_cast<std::streamsize>(text.size()));
  stream.close();
  std::error_code error;
  if (!stream) {
    const std::string why = std::strerror(errno);
    std::filesystem::remove(partial, error);
    output_failed(file, why);
  }
  std::filesystem::rename(partial, file, error);
  if (!error) return;
  std::error_code ignored;
  std::filesystem::remove(partial, ignored);
  output_failed(file, error.message());
}

}  // namespace

std::string to_yaml(const OpSpec& spec) {
  std::string text = "opspec: 1\n";
  text += fmt::format("op: {}\n", word(spec.op));
  text += fmt::format("schema: {}\n", quote(spec.schema));
  text += source_text(spec.source);
  text += words_text("scope", spec.scope);
  text += words_text("vary", spec.vary);
  text += words_text("tags", spec.tags);
  if (spec.tolerance)
    text += fmt::format("tolerance: {{factor: {}, why: {}}}\n",
                        short_number(spec.tolerance->factor), quote(spec.tolerance->why));
  if (!spec.known.empty()) text += "known:\n";
  for (const KnownFailure& known : spec.known) text += known_text(known);
  text += spec.calls.empty() ? "calls: []\n" : "calls:\n";
  for (const SpecCall& call : spec.calls) text += call_text(call);
  return text;
}

std::string file_name(const OpSpec& spec) { return spec.op + ".yaml"; }

void write_spec(const OpSpec& spec, const std::filesystem::path& file) {
  write_file(file, to_yaml(spec));
}

void write_specs(const std::vector<OpSpec>& specs, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) output_failed(folder, error.message());
  for (const OpSpec& spec : specs) write_spec(spec, folder / file_name(spec));
}

}  // namespace opreplay
