#include "lib/model/pt2_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "lib/model/json_doc.h"
#include "lib/model/pt2_graph.h"
#include "lib/model/zip.h"
#include "opreplay/case.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

constexpr std::uint64_t k_max_json = std::uint64_t{1} << 30;
constexpr std::size_t k_graph_memory = std::size_t{256} << 20;
// Larger files are identified by their central directory: a capture does not read 100 GB.
constexpr std::uint64_t k_hash_whole_up_to = std::uint64_t{64} << 20;
constexpr std::int64_t k_schema_major = 8;

/// Where a weight or constant lies, by its fully qualified name.
struct Payload {
  StoredBytes bytes;
  TensorMeta meta;
  std::string problem;
};
using Payloads = std::unordered_map<std::string, Payload>;

class Reader {
 public:
  explicit Reader(const std::filesystem::path& file) : zip_(file), budget_(k_graph_memory) {}

  Pt2Model read() {
    find_model();
    Pt2Model model;
    Payloads payloads;
    read_payloads("data/weights/", "weights", payloads);
    read_payloads("data/constants/", "constants", payloads);
    {
      const JsonDoc doc = parse(*zip_.find(root_ + program_), program_);
      read_program(doc.root(), payloads, model);
    }
    if (const ZipEntry* samples = zip_.find(root_ + samples_))
      model.graph.sample_inputs = {samples->offset, samples->size};
    model.source.model = zip_.file().filename().string();
    const bool whole = zip_.file_size() <= k_hash_whole_up_to;
    model.source.hash =
        (whole ? "xxh3:" : "xxh3-directory:") + id_text(zip_.content_hash(k_hash_whole_up_to));
    return model;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ExitCode::invalid_input, zip_.file().string() + ": " + problem);
  }

  /// Sets where things lie: torch >= 2.9 and 2.8 have <root>models/<name>.json, earlier ones the
  /// same program at the root of the archive. Before 2.9 the tensors were pickled.
  void find_model() {
    if (zip_.find("serialized_exported_program.json")) {
      program_ = "serialized_exported_program.json";
      samples_ = "serialized_example_inputs.pt";
      pickled_ = true;
      return;
    }
    std::vector<std::string> models;
    for (const ZipEntry& entry : zip_.entries()) {
      const std::string_view name = entry.name;
      const auto slash = name.find('/');
      if (slash == std::string_view::npos || !name.ends_with(".json")) continue;
      if (!name.substr(slash + 1).starts_with("models/")) continue;
      root_ = name.substr(0, slash + 1);
      name_ = name.substr(slash + 8, name.size() - slash - 8 - 5);
      models.push_back(entry.name);
    }
    if (models.size() > 1) {
      fail(fmt::format("expected one model, found {} ('{}', '{}'...); save them to separate files",
                       models.size(), models[0], models[1]));
    }
    if (models.empty()) refuse_other_layout();
    program_ = "models/" + name_ + ".json";
    samples_ = "data/sample_inputs/" + name_ + ".pt";
    pickled_ = zip_.find(root_ + "data/weights/" + name_ + ".pt") != nullptr;
  }

  [[noreturn]] void refuse_other_layout() const {
    const auto any = [this](auto matches) {
      return std::any_of(zip_.entries().begin(), zip_.entries().end(), [&](const ZipEntry& entry) {
        return matches(std::string_view(entry.name));
      });
    };
    if (any([](std::string_view n) { return n.find("/data/aotinductor/") != n.npos; })) {
      fail(
          "an AOTInductor package: compiled code without a graph; save the exported program with "
          "torch.export.save instead");
    }
    if (any([](std::string_view n) { return n.ends_with("/constants.pkl"); })) {
      fail("a TorchScript file; export the model with torch.export.export and torch.export.save");
    }
    if (any([](std::string_view n) { return n.ends_with("/data.pkl"); })) {
      fail(
          "a file of torch.save (weights or a pickled module) holds no graph; export the model "
          "with torch.export.export and torch.export.save");
    }
    fail("a zip archive without models/*.json: not written by torch.export.save");
  }

  JsonDoc parse(const ZipEntry& entry, const std::string& member) const {
    if (entry.size > k_max_json) {
      fail(
          fmt::format("{}: {} bytes of JSON, at most {} are read", member, entry.size, k_max_json));
    }
    std::uint64_t at = 0;
    std::uint32_t checksum = 0;
    const auto source = [&](std::span<char> to) {
      const auto bytes =
          std::as_writable_bytes(to.first(std::min<std::uint64_t>(to.size(), entry.size - at)));
      zip_.read(entry, at, bytes);
      at += bytes.size();
      checksum = crc32(checksum, bytes);
      if (at == entry.size && entry.crc32 != 0 && checksum != entry.crc32) {
        fail(fmt::format("{}: damaged: checksum {:08x}, expected {:08x}", member, checksum,
                         entry.crc32));
      }
      return bytes.size();
    };
    return JsonDoc(zip_.file().string() + ": " + member, source);
  }

  void read_payloads(const std::string& folder, const std::string& what, Payloads& payloads) {
    const std::string member = folder + name_ + "_" + what + "_config.json";
    const ZipEntry* entry = zip_.find(root_ + member);
    if (!entry) return;  // saved without weights: static capture needs none
    const JsonDoc doc = parse(*entry, member);
    for (const Json::Member item : doc.root().at("config").members()) {
      budget_.spend(sizeof(Payload) + item.key.size(), item.value);
      Payload& payload = payloads[std::string(item.key)];
      const Json path = item.value.at("path_name");
      const ZipEntry* data = zip_.find(root_ + folder + std::string(path.string()));
      if (!data) path.fail(fmt::format("the archive has no entry '{}{}'", folder, path.string()));
      payload.bytes = {data->offset, data->size};
      const Json meta = item.value.at("tensor_meta");
      if (meta.is_null()) {
        payload.problem = "a custom object";
        continue;
      }
      payload.meta = read_tensor_meta(meta);
      payload.problem = payload.meta.problem;
      if (item.value.at("use_pickle").boolean()) payload.problem = "pickled (a tensor subclass)";
      if (payload.problem.empty()) check_extent(payload, meta);
    }
  }

  /// The tensor must lie inside its bytes; no bytes at all stand for zeros.
  static void check_extent(const Payload& payload, const Json& where) {
    const auto elements = static_cast<std::uint64_t>(*storage_elements(payload.meta.desc));
    const std::uint64_t available = payload.bytes.size / size_of(payload.meta.desc.dtype);
    if (payload.bytes.size > 0 && elements > available) {
      where.fail(
          fmt::format("expected {} elements in the stored bytes, found {}", elements, available));
    }
  }

  void read_program(const Json& root, const Payloads& payloads, Pt2Model& model) {
    const Json version = root.at("schema_version");
    if (version.at("major").integer() != k_schema_major) {
      version.fail(
          fmt::format("expected schema version {}, found {}; save the model with a torch "
                      "up to 2.13",
                      k_schema_major, version.at("major").integer()));
    }
    if (const auto torch = root.find("torch_version")) {
      const std::string_view text = torch->string();
      model.source.torch = text.substr(0, text.find('+'));  // "2.13.0+cpu"
    }
    const Json module = root.at("graph_module");
    model.graph = read_graph(module.at("graph"), budget_);
    const Json signature = module.at("signature");
    read_inputs(signature.at("input_specs"), payloads, model.graph);
    read_outputs(signature.at("output_specs"), model.graph);
  }

  void read_inputs(const Json& specs, const Payloads& payloads, Graph& graph) const {
    std::size_t index = 0;
    for (const Json spec : specs.elements()) {
      if (index == graph.inputs.size()) spec.fail("more input specs than graph inputs");
      GraphInput& input = graph.inputs[index++];
      const Json::Member member = spec.only_member();
      const auto stored = [&](InputKind kind, const char* key) {
        input.kind = kind;
        input.target = member.value.at(key).string();
        attach(payloads, input);
      };
      if (member.key == "parameter") {
        stored(InputKind::parameter, "parameter_name");
      } else if (member.key == "buffer") {
        stored(InputKind::buffer, "buffer_name");
      } else if (member.key == "tensor_constant") {
        stored(InputKind::tensor_constant, "tensor_constant_name");
      } else if (member.key == "constant_input") {
        input.kind = InputKind::literal;
        input.target = member.value.at("name").string();
        input.value = read_constant(member.value.at("value"));
      } else if (member.key == "user_input") {
        input.kind = InputKind::user;
      } else {
        input.kind = InputKind::other;
        input.problem = fmt::format("an input of kind '{}'", member.key);
      }
    }
    if (index != graph.inputs.size()) {
      specs.fail(fmt::format("expected {} input specs, one per graph input, found {}",
                             graph.inputs.size(), index));
    }
  }

  void attach(const Payloads& payloads, GraphInput& input) const {
    const auto found = payloads.find(input.target);
    if (found == payloads.end()) {
      input.problem = pickled_ ? "pickled, as torch before 2.9 did; load and save the model with a "
                                 "newer one: torch.export.save(torch.export.load(FILE), FILE)"
                               : "not in the file";
      return;
    }
    input.stored = found->second.bytes;
    input.desc = found->second.meta.desc;
    input.requires_grad = found->second.meta.requires_grad;
    input.problem = found->second.problem;
  }

  static void read_outputs(const Json& specs, Graph& graph) {
    static const std::map<std::string_view, std::pair<OutputKind, const char*>> kinds = {
        {"user_output", {OutputKind::user, nullptr}},
        {"loss_output", {OutputKind::loss, nullptr}},
        {"buffer_mutation", {OutputKind::mutation, "buffer_name"}},
        {"parameter_mutation", {OutputKind::mutation, "parameter_name"}},
        {"user_input_mutation", {OutputKind::mutation, "user_input_name"}},
        {"gradient_to_parameter", {OutputKind::gradient, "parameter_name"}},
        {"gradient_to_user_input", {OutputKind::gradient, "user_input_name"}},
    };
    std::size_t index = 0;
    for (const Json spec : specs.elements()) {
      if (index == graph.outputs.size()) spec.fail("more output specs than graph outputs");
      GraphOutput& output = graph.outputs[index++];
      const Json::Member member = spec.only_member();
      const auto kind = kinds.find(member.key);
      output.kind = kind == kinds.end() ? OutputKind::other : kind->second.first;
      if (kind != kinds.end() && kind->second.second)
        output.target = member.value.at(kind->second.second).string();
    }
    if (index != graph.outputs.size()) {
      specs.fail(fmt::format("expected {} output specs, one per graph output, found {}",
                             graph.outputs.size(), index));
    }
  }

  ZipArchive zip_;
  GraphBudget budget_;
  std::string root_, name_;
  std::string program_, samples_;  ///< behind root_
  bool pickled_ = false;           ///< weights and constants are a pickle each
};

}  // namespace

Pt2Model read_pt2(const std::filesystem::path& file) { return Reader(file).read(); }

}  // namespace opreplay
