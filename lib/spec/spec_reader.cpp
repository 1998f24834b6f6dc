// load_specs: op-spec files to OpSpec (format: docs/spec-format.md).

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/base/bind.h"
#include "lib/base/schema.h"
#include "lib/base/text.h"
#include "lib/spec/argument_reader.h"
#include "lib/spec/yaml_reader.h"
#include "opreplay/error.h"
#include "opreplay/spec.h"
#include "opreplay/verdict.h"

namespace opreplay {
namespace {

constexpr std::int64_t k_format_version = 1;

constexpr std::array<std::string_view, 10> k_families = {"shape",  "broadcast",  "dtype", "layout",
                                                         "values", "attributes", "alias", "state",
                                                         "mode",   "invalid"};
constexpr std::array<std::string_view, 5> k_tags = {"custom_op", "dynamic", "amp", "quantised",
                                                    "rng"};
constexpr std::array<std::string_view, 3> k_captures = {"static", "run", "live"};
constexpr std::array<std::string_view, 2> k_phases = {"forward", "backward"};

class SpecReader {
 public:
  SpecReader(const std::filesystem::path& file, const LoadLimits& limits, Diagnostics& diagnostics)
      : folder_(file.parent_path()), limits_(limits), diagnostics_(diagnostics) {
    spec_.file = file;
  }

  OpSpec read(const YamlNode& root) {
    MapReader map(root, "op-spec", diagnostics_);
    if (!map.is_map() || !read_version(map)) return {};
    read_op(map);
    if (const YamlNode* source = map.find("source")) read_source(*source);
    if (const YamlNode* scope = map.find("scope"))
      spec_.scope = read_families(*scope, "scope", false);
    if (const YamlNode* vary = map.find("vary")) spec_.vary = read_families(*vary, "vary", true);
    if (const YamlNode* tags = map.find("tags")) read_tags(*tags);
    if (const YamlNode* tolerance = map.find("tolerance")) read_tolerance(*tolerance);
    if (const YamlNode* known = map.find("known"))
      for (const YamlNode& item : read_list(*known, "known", diagnostics_)) read_known(item);
    if (const YamlNode* calls = map.require("calls")) {
      const auto items = read_list(*calls, "calls", diagnostics_);
      for (std::size_t i = 0; i < items.size() && !diagnostics_.full(); ++i)
        read_call(items[i], fmt::format("calls.{}", i));
    }
    map.not_supported("rule", "put the rule into a file of a folder given with --rules");
    map.finish();
    return std::move(spec_);
  }

 private:
  // Nothing else of a file is read when it is written in another format.
  bool read_version(MapReader& map) {
    const YamlNode* node = map.require("opspec");
    if (!node) return false;
    const auto version = read_int(*node, "opspec", diagnostics_, 1);
    if (!version) return false;
    if (*version == k_format_version) return true;
    complain(*node,
             fmt::format("opspec: the file has format {}, this version reads {}; use a newer "
                         "opreplay",
                         *version, k_format_version),
             diagnostics_);
    return false;
  }

  void read_op(MapReader& map) {
    const YamlNode* op = map.require("op");
    const YamlNode* text = map.require("schema");
    if (op) spec_.op = read_text(*op, "op", diagnostics_).value_or("");
    if (text) spec_.schema = read_text(*text, "schema", diagnostics_).value_or("");
    if (!op || !text || spec_.op.empty() || spec_.schema.empty()) return;
    const auto dot = spec_.op.find('.');
    if (dot == std::string::npos || dot == 0) {
      complain_expected(*op, "op", "<namespace>.<op>[.<overload>]", diagnostics_);
      return;
    }
    const auto separator = spec_.schema.substr(0, spec_.schema.find('(')).find("::");
    const std::string space = spec_.op.substr(0, dot);
    try {
      Schema schema =
          parse_schema(separator == std::string::npos ? space + "::" + spec_.schema : spec_.schema);
      if (separator != std::string::npos) spec_.schema.erase(0, separator + 2);
      if (schema.op != spec_.op)
        complain(
            *text,
            fmt::format("schema: expected the schema of {}, found that of {}", spec_.op, schema.op),
            diagnostics_);
      else if (schema.vararg)
        complain(*text, "schema: no call can be made of an operator with ... arguments",
                 diagnostics_);
      else
        schema_ = std::move(schema);
    } catch (const Error& error) {
      complain(*text, std::string("schema: ") + error.what(), diagnostics_);
    }
  }

  void read_source(const YamlNode& node) {
    MapReader map(node, "source", diagnostics_);
    const auto text = [&](std::string_view key, std::string& into) {
      if (const YamlNode* value = map.find(key))
        into = read_text(*value, fmt::format("source.{}", key), diagnostics_).value_or("");
    };
    text("model", spec_.source.model);
    text("hash", spec_.source.hash);
    text("torch", spec_.source.torch);
    if (const YamlNode* capture = map.find("capture"))
      if (const auto word = read_word(*capture, "source.capture", k_captures, diagnostics_))
        spec_.source.capture = k_captures[*word];
    map.finish();
  }

  // "values", "values.nan", "values.nan@first"; signed where families are added and removed.
  std::vector<std::string> read_families(const YamlNode& node, std::string_view what,
                                         bool is_signed) {
    std::vector<std::string> families;
    for (const YamlNode& item : read_list(node, what, diagnostics_)) {
      const auto text = read_text(item, what, diagnostics_);
      if (!text) continue;
      std::string_view family = *text;
      if (is_signed && (family.starts_with("+") || family.starts_with("-")))
        family.remove_prefix(1);
      family = family.substr(0, family.find('.'));
      if (std::find(k_families.begin(), k_families.end(), family) == k_families.end())
        complain(item,
                 fmt::format("{}: expected a family of variations ({}), found {}{}", what,
                             fmt::join(k_families, ", "), describe(item),
                             nearest_hint(nearest_word(family, k_families))),
                 diagnostics_);
      families.push_back(*text);
    }
    return families;
  }

  void read_tags(const YamlNode& node) {
    for (const YamlNode& item : read_list(node, "tags", diagnostics_))
      if (const auto word = read_word(item, "tags", k_tags, diagnostics_))
        spec_.tags.emplace_back(k_tags[*word]);
  }

  // A text that a reader of the report relies on: it must say something.
  void require_text(MapReader& map, std::string_view what, std::string_view key,
                    std::string& into) {
    const YamlNode* value = map.require(key);
    if (!value) return;
    into = read_text(*value, fmt::format("{}.{}", what, key), diagnostics_).value_or("");
    if (value->is_scalar() && into.find_first_not_of(' ') == std::string::npos)
      complain(*value, fmt::format("{}.{}: must not be empty", what, key), diagnostics_);
  }

  void read_tolerance(const YamlNode& node) {
    MapReader map(node, "tolerance", diagnostics_);
    Tolerance tolerance;
    if (const YamlNode* factor = map.require("factor")) {
      tolerance.factor = read_number(*factor, "tolerance.factor", diagnostics_).value_or(1);
      if (!(tolerance.factor >= 1) || !std::isfinite(tolerance.factor))
        complain_expected(*factor, "tolerance.factor", "a finite factor of at least 1",
                          diagnostics_);
    }
    require_text(map, "tolerance", "why", tolerance.why);
    map.finish();
    spec_.tolerance = std::move(tolerance);
  }

  void read_known(const YamlNode& node) {
    MapReader map(node, "known", diagnostics_);
    KnownFailure known;
    const auto text = [&](std::string_view key, std::string& into) {
      if (const YamlNode* value = map.find(key))
        into = read_text(*value, fmt::format("known.{}", key), diagnostics_).value_or("");
    };
    require_text(map, "known", "device", known.device);
    text("case", known.case_text);
    require_text(map, "known", "reason", known.reason);
    require_text(map, "known", "why", known.why);
    text("link", known.link);
    text("since", known.since);
    text("until", known.until);
    map.finish();
    const YamlNode* reason = map.find("reason");
    if (reason && reason->is_scalar() && !parse_reason(known.reason))
      complain_expected(*reason, "known.reason", "a reason such as wrong_value", diagnostics_);
    spec_.known.push_back(std::move(known));
  }

  void read_call(const YamlNode& node, const std::string& what) {
    MapReader map(node, what, diagnostics_);
    SpecCall call;
    const YamlNode* id = map.find("id");
    if (const YamlNode* count = map.find("count"))
      call.count = read_int(*count, what + ".count", diagnostics_, 1).value_or(1);
    if (const YamlNode* at = map.find("at"))
      for (const YamlNode& item : read_list(*at, what + ".at", diagnostics_))
        call.at.push_back(read_site(item, what + ".at"));
    if (const YamlNode* phase = map.find("phase")) read_phase(*phase, what + ".phase", call);
    if (const YamlNode* replay = map.find("replay_backward"))
      call.replay_backward =
          read_bool(*replay, what + ".replay_backward", diagnostics_).value_or(false);
    const YamlNode* args = map.find("args");
    if (const YamlNode* results = map.find("results"))
      for (const YamlNode& item : read_list(*results, what + ".results", diagnostics_))
        if (auto desc = read_tensor_text(item, what + ".results", diagnostics_))
          call.results.push_back(std::move(*desc));
    map.finish();
    // Without a schema the arguments mean nothing; its own problem is reported.
    if (!schema_ || !map.is_map()) return;
    if (read_args(args ? *args : node, args != nullptr, what, call.call)) {
      check_id(id, what, call.call);
      check_size(node, what, call);
    }
    spec_.calls.push_back(std::move(call));
  }

  CallSite read_site(const YamlNode& node, const std::string& what) {
    MapReader map(node, what, diagnostics_);
    CallSite site;
    if (const YamlNode* module = map.find("module"))
      site.module = read_text(*module, what + ".module", diagnostics_).value_or("");
    if (const YamlNode* line = map.find("line"))
      site.line = read_text(*line, what + ".line", diagnostics_).value_or("");
    map.finish();
    return site;
  }

  void read_phase(const YamlNode& node, const std::string& what, SpecCall& call) {
    call.forward = call.backward = false;
    for (const YamlNode& item : read_list(node, what, diagnostics_))
      if (const auto word = read_word(item, what, k_phases, diagnostics_))
        (*word == 0 ? call.forward : call.backward) = true;
    if (node.kind == YamlNode::Kind::sequence && node.values.empty())
      complain(node, what + ": expected forward, backward or both, found an empty list",
               diagnostics_);
  }

  // Arguments by name, then bound to the schema: canonical order, defaults dropped.
  // Returns false after a problem.
  bool read_args(const YamlNode& node, bool present, const std::string& what, OpCall& call) {
    const std::size_t before = diagnostics_.count();
    call.op = spec_.op;
    std::vector<const YamlNode*> places;
    ArgumentReader reader(folder_, diagnostics_);
    if (present) {
      MapReader map(node, what + ".args", diagnostics_);
      for (const SchemaArg& arg : schema_->args) {
        const YamlNode* value = map.find(arg.name);
        if (!value) continue;
        auto read = reader.read(*value, arg.type, fmt::format("{}.{}", what, arg.name));
        if (!read) continue;
        call.args.push_back({arg.name, std::move(*read), arg.keyword_only});
        places.push_back(value);
      }
      map.finish();
    }
    if (diagnostics_.count() > before) return false;
    const auto problem = try_bind(call, *schema_);
    if (problem)
      complain(problem->argument ? *places[*problem->argument] : node,
               fmt::format("{}: {}", what, problem->message), diagnostics_);
    return !problem;
  }

  void check_id(const YamlNode* node, const std::string& what, const OpCall& call) {
    if (!node) return;
    const auto id = read_text(*node, what + ".id", diagnostics_);
    const std::string computed = id_text(call_id(call));
    if (id && *id != computed)
      complain(*node,
               fmt::format("{}.id: expected {}, the id of these arguments, found {}; after an "
                           "edit by hand leave the id out, `opreplay spec fmt` writes it",
                           what, computed, excerpt(*id)),
               diagnostics_);
  }

  void check_size(const YamlNode& node, const std::string& what, const SpecCall& call) {
    const auto check = [&](std::string_view part, const std::vector<const TensorDesc*>& needed) {
      const auto bytes = total_bytes(needed);
      if (bytes && *bytes <= limits_.max_bytes) return;
      complain(
          node,
          fmt::format("{}: {} need {} bytes, the limit is {}; raise it with --max-bytes", what,
                      part, bytes ? std::to_string(*bytes) : "more than 2^63", limits_.max_bytes),
          diagnostics_);
    };
    std::vector<const TensorDesc*> tensors;
    for_each_tensor(call.call, [&](const std::string&, const TensorArg& tensor) {
      tensors.push_back(&tensor.desc);
    });
    check("arguments", tensors);
    tensors.clear();
    for (const TensorDesc& result : call.results) tensors.push_back(&result);
    check("results", tensors);
  }

  // Tensors of one storage count once, with the largest of them.
  static std::optional<std::int64_t> total_bytes(const std::vector<const TensorDesc*>& tensors) {
    std::map<std::string, std::int64_t> shared;
    std::int64_t total = 0;
    const auto add = [&total](std::int64_t bytes) {
      return !__builtin_add_overflow(total, bytes, &total);
    };
    for (const TensorDesc* desc : tensors) {
      std::int64_t bytes = 0;
      if (__builtin_mul_overflow(storage_elements(*desc).value_or(0),
                                 static_cast<std::int64_t>(size_of(desc->dtype)), &bytes))
        return std::nullopt;
      if (desc->storage.empty()) {
        if (!add(bytes)) return std::nullopt;
      } else {
        std::int64_t& largest = shared[desc->storage];
        largest = std::max(largest, bytes);
      }
    }
    for (const auto& [label, bytes] : shared)
      if (!add(bytes)) return std::nullopt;
    return total;
  }

  std::filesystem::path folder_;
  const LoadLimits& limits_;
  Diagnostics& diagnostics_;
  std::optional<Schema> schema_;
  OpSpec spec_;
};

// Every *.yaml below a folder, in name order; or the file itself.
std::vector<std::filesystem::path> spec_files(const std::filesystem::path& place) {
  std::error_code error;
  if (!std::filesystem::is_directory(place, error)) return {place};
  std::vector<std::filesystem::path> files;
  std::filesystem::recursive_directory_iterator entries(place, error), end;
  for (; !error && entries != end; entries.increment(error)) {
    std::error_code ignored;
    if (entries->path().extension() == ".yaml" && !entries->is_directory(ignored))
      files.push_back(entries->path());
  }
  if (error)
    throw Error(ExitCode::invalid_input,
                fmt::format("{}: cannot read the folder: {}", place.string(), error.message()));
  if (files.empty())
    throw Error(ExitCode::invalid_input,
                fmt::format("{}: expected op-specs, found no *.yaml file; write some with "
                            "`opreplay capture`",
                            place.string()));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<OpSpec> load_specs(const std::filesystem::path& file_or_folder,
                               const LoadLimits& limits) {
  std::vector<OpSpec> specs;
  std::vector<Diagnostic> problems;
  for (const auto& file : spec_files(file_or_folder)) {
    Diagnostics diagnostics(file.string());
    if (const auto text = read_text_file(file.string(), limits.max_file_bytes, diagnostics))
      if (const auto root = parse_yaml(*text, diagnostics))
        specs.push_back(SpecReader(file, limits, diagnostics).read(*root));
    const auto found = diagnostics.take();
    problems.insert(problems.end(), found.begin(), found.end());
  }
  throw_if_any(problems);
  return specs;
}

bool OpSpec::operator==(const OpSpec& other) const {
  return op == other.op && schema == other.schema && source == other.source &&
         calls == other.calls && scope == other.scope && vary == other.vary && tags == other.tags &&
         known == other.known && tolerance == other.tolerance;
}

}  // namespace opreplay
