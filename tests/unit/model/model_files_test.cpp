// Static capture of models that torch itself wrote. The right values are Python's: counted from the
// exported program (tests/support/export_models.py), or with OPREPLAY_CORPUS set, the corpus's own
// expected.json.

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <map>

#include "lib/model/capture.h"
#include "opreplay/case.h"
#include "tests/unit/model/pt2_fixture.h"

using namespace opreplay;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

using Counts = std::map<std::string, std::int64_t>;

Json read_json(const fs::path& file) {
  std::ifstream in(file);
  INFO(file);
  REQUIRE(in);
  return Json::parse(in);
}

/// Captured and not captured together.
Counts targets(const CaptureResult& result) {
  Counts counts;
  for (const CapturedTarget& captured : result.captured) counts[captured.target] += captured.count;
  for (const NotCaptured& refused : result.not_captured) counts[refused.target] += refused.count;
  return counts;
}

std::int64_t captured_nodes(const CaptureResult& result) {
  std::int64_t sum = 0;
  for (const CapturedTarget& captured : result.captured) sum += captured.count;
  return sum;
}

}  // namespace

#ifdef OPREPLAY_MODELS_DIR
namespace {

/// "f32[2,3;3,1+0]", as export_models.py prints a tensor's geometry.
std::string full_text(const TensorDesc& desc) {
  const auto join = [](const std::vector<std::int64_t>& numbers) {
    std::string text;
    for (const std::int64_t n : numbers) text += (text.empty() ? "" : ",") + std::to_string(n);
    return text;
  };
  return std::string(name(desc.dtype)) + "[" + join(desc.sizes) + ";" + join(desc.strides) + "+" +
         std::to_string(desc.offset) + "]";
}

}  // namespace

TEST_CASE("exported models: counts and geometry are Python's") {
  for (const std::string model : {"tiny_llama", "tiny_convnet", "tiny_odds"}) {
    INFO(model);
    const fs::path file = fs::path(OPREPLAY_MODELS_DIR) / (model + ".pt2");
    const Json expected = read_json(fs::path(OPREPLAY_MODELS_DIR) / (model + ".json"));
    const CaptureResult result = capture_file(file);
    CHECK(result.nodes == expected["nodes"].get<std::int64_t>());
    CHECK(targets(result) == expected["ops"].get<Counts>());
    // Only the asserts are no calls.
    for (const NotCaptured& refused : result.not_captured)
      CHECK(refused.target == "torch.ops.aten._assert_tensor_metadata.default");
    const auto geometry = expected["values"].get<std::map<std::string, std::string>>();
    std::size_t compared = 0;
    for (const GraphValue& value : read_pt2(file).graph.values) {
      const auto found = geometry.find(value.name);
      if (found == geometry.end()) continue;
      ++compared;
      INFO(value.name);
      CHECK(full_text(value.desc) == found->second);
    }
    CHECK(compared + 2 >= geometry.size());  // Python names values of several results apart
  }
}

TEST_CASE("exported models: the calls a reader would get wrong") {
  const auto texts = [](const std::string& model) {
    std::map<std::string, std::int64_t> counts;
    const CaptureResult result = capture_file(fs::path(OPREPLAY_MODELS_DIR) / (model + ".pt2"));
    for (const OpSpec& spec : result.specs)
      for (const SpecCall& call : spec.calls) counts[to_string(call.call)] = call.count;
    return counts;
  };
  // Read off the source of the models: 2 layers, q and o projections of width 32; two columns of
  // one tensor copied onto each other; a number where the schema says Tensor.
  auto llama = texts("tiny_llama");
  CHECK(llama["aten.linear(f32[2,12,32], f32[32,32])"] == 4);
  CHECK(llama["aten.embedding(f32[96,32], i64[2,12])"] == 1);
  CHECK(llama["aten.linear(f32[2,12,32], f32[96,32])"] == 1);
  auto odds = texts("tiny_odds");
  CHECK(odds["aten.copy_(f32[5;4]&a, f32[5;4+3]&a)"] == 1);
  CHECK(odds["aten.mul.Tensor(f32[5,4], 2.0)"] == 1);
  CHECK(odds["aten.mul.Tensor(c64[5,4], (1+2j))"] == 1);
  CHECK(odds["aten.index.Tensor(f32[4,3;1,4], [null, i64[3]])"] == 1);
  CHECK(odds["aten.masked_fill.Scalar(f32[5,4], bool[5,4], -inf)"] == 1);
  auto convnet = texts("tiny_convnet");
  CHECK(convnet["aten.conv2d(f32[2,8,4,5], f32[8,4,3,3], f32[8], [1, 1], [1, 1], [1, 1], 2)"] == 1);
  CHECK(convnet["aten.add_.Tensor(f32[2,8,4,5], f32[2,8,4,5])"] == 1);
}
#endif

TEST_CASE("corpus: every node is captured or listed") {
  const char* folder = std::getenv("OPREPLAY_CORPUS");
  if (!folder) {
    WARN("OPREPLAY_CORPUS is not set: the corpus of exported models is skipped");
    return;
  }
  const Json expected = read_json(fs::path(folder) / "expected.json");
  int models = 0;
  for (const auto& [model, facts] : expected.items()) {
    if (!facts.contains("nodes") || facts["nodes"].is_null()) continue;
    INFO(model);
    ++models;
    const CaptureResult result = capture_file(fs::path(folder) / facts["file"].get<std::string>());
    CHECK(result.nodes == facts["nodes"].get<std::int64_t>());
    Counts counts;
    for (const char* key : {"ops", "nested_ops"})
      for (const auto& entry : facts[key])
        counts[entry[0].get<std::string>()] += entry[1].get<std::int64_t>();
    CHECK(targets(result) == counts);
    std::int64_t calls = 0;
    for (const OpSpec& spec : result.specs)
      for (const SpecCall& call : spec.calls) calls += call.count;
    CHECK(calls == captured_nodes(result));
  }
  CHECK(models > 0);
}
