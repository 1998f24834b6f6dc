// Whole models run by the interpreter. The right outputs are Python's: written by
// tests/support/export_models.py, or with OPREPLAY_CORPUS set, the corpus's safetensors files.

#include "lib/torch/interpreter.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "lib/base/numeric.h"
#include "lib/model/apply_values.h"
#include "lib/model/capture.h"
#include "opreplay/case.h"

using namespace opreplay;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct Expected {
  DType dtype = DType::f32;
  std::vector<std::int64_t> sizes;
  std::vector<std::byte> bytes;
};

std::string read_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  INFO(file);
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

GraphRun run_file(const fs::path& file, bool statistics = false) {
  GraphRunRequest request;
  request.graph = read_pt2(file).graph;
  request.file = file.string();
  request.statistics = statistics;
  return run_graph(request);
}

/// Floating outputs within `ulps` of the largest magnitude of the expected ones, all else exact.
void check_outputs(const GraphRun& run, const std::vector<Expected>& expected, double ulps) {
  std::vector<const RunOutput*> tensors;
  for (const RunOutput& output : run.outputs)
    if (output.is_tensor) tensors.push_back(&output);
  REQUIRE(tensors.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("output " << i);
    const Expected& want = expected[i];
    const RunOutput& got = *tensors[i];
    CHECK(name(got.desc.dtype) == name(want.dtype));
    CHECK(got.desc.sizes == want.sizes);
    REQUIRE(got.bytes.size() == want.bytes.size());
    if (!is_floating(want.dtype) && !is_complex(want.dtype)) {
      CHECK(got.bytes == want.bytes);
      continue;
    }
    const auto a = load_elements(want.dtype, got.bytes), b = load_elements(want.dtype, want.bytes);
    double largest = 0, error = 0;
    bool same_class = true;
    for (std::size_t k = 0; k < b.size(); ++k) {
      if (!std::isfinite(b[k])) {
        same_class &= std::isnan(b[k]) ? std::isnan(a[k]) : a[k] == b[k];
        continue;
      }
      largest = std::max(largest, std::abs(b[k]));
      error = std::max(error, std::isnan(a[k]) ? INFINITY : std::abs(a[k] - b[k]));
    }
    CHECK(same_class);
    CHECK(error <= ulps * ulp(component_type(want.dtype), largest));
  }
}

/// NAME.out of export_models.py.
std::vector<Expected> read_out(const fs::path& file) {
  const std::string text = read_text(file);
  std::size_t at = 0;
  const auto take = [&](auto& value) {
    REQUIRE(at + sizeof value <= text.size());
    std::memcpy(&value, text.data() + at, sizeof value);
    at += sizeof value;
  };
  constexpr DType k_dtypes[] = {DType::f32, DType::i64, DType::boolean, DType::f64, DType::c64};
  std::uint32_t count = 0;
  take(count);
  std::vector<Expected> outputs(count);
  for (Expected& output : outputs) {
    std::uint32_t dtype = 0, rank = 0;
    take(dtype);
    take(rank);
    output.dtype = k_dtypes[dtype];
    output.sizes.resize(rank);
    std::size_t size = size_of(output.dtype);
    for (std::int64_t& extent : output.sizes) {
      take(extent);
      size *= static_cast<std::size_t>(extent);
    }
    REQUIRE(at + size <= text.size());
    output.bytes.resize(size);
    if (size > 0) std::memcpy(output.bytes.data(), text.data() + at, size);
    at += size;
  }
  CHECK(at == text.size());
  return outputs;
}

/// Tensors out0, out1... of a safetensors file: u64 header length, JSON header, raw bytes.
std::vector<Expected> read_safetensors(const fs::path& file) {
  const std::string text = read_text(file);
  std::uint64_t header_size = 0;
  REQUIRE(text.size() >= sizeof header_size);
  std::memcpy(&header_size, text.data(), sizeof header_size);
  const Json header = Json::parse(text.substr(8, header_size));
  static const std::map<std::string, DType> dtypes = {
      {"F64", DType::f64}, {"F32", DType::f32},      {"F16", DType::f16}, {"BF16", DType::bf16},
      {"I64", DType::i64}, {"I32", DType::i32},      {"I16", DType::i16}, {"I8", DType::i8},
      {"U8", DType::u8},   {"BOOL", DType::boolean}, {"C64", DType::c64}};
  std::map<std::size_t, Expected> by_number;
  for (const auto& [key, entry] : header.items()) {
    if (key == "__metadata__") continue;
    Expected& output = by_number[std::stoul(key.substr(3))];
    output.dtype = dtypes.at(entry["dtype"].get<std::string>());
    output.sizes = entry["shape"].get<std::vector<std::int64_t>>();
    const std::size_t begin = 8 + header_size + entry["data_offsets"][0].get<std::size_t>();
    const std::size_t end = 8 + header_size + entry["data_offsets"][1].get<std::size_t>();
    REQUIRE(end <= text.size());
    const auto bytes = std::as_bytes(std::span(text)).subspan(begin, end - begin);
    output.bytes.assign(bytes.begin(), bytes.end());
  }
  std::vector<Expected> outputs;
  for (auto& [number, output] : by_number) outputs.push_back(std::move(output));
  return outputs;
}

const fs::path k_models = OPREPLAY_MODELS_DIR;

}  // namespace

TEST_CASE("exported models give Python's outputs") {
  for (const std::string model : {"tiny_llama", "tiny_convnet", "tiny_odds"}) {
    INFO(model);
    const GraphRun run = run_file(k_models / (model + ".pt2"));
    CHECK(run.failure.empty());
    CHECK(run.differences.empty());
    check_outputs(run, read_out(k_models / (model + ".out")), 4);
  }
}

TEST_CASE("a run tells the statistics of every argument") {
  const fs::path file = k_models / "tiny_odds.pt2";
  const GraphRun run = run_file(file, true);
  REQUIRE(run.failure.empty());
  CaptureResult capture = capture_file(file);
  apply_values(capture, run);
  CHECK(capture.source.capture == "run");
  const auto argument = [&](const std::string& call, const std::string& path) {
    for (OpSpec& spec : capture.specs) {
      for (SpecCall& spec_call : spec.calls) {
        if (to_string(spec_call.call) != call) continue;
        std::optional<Values> values;
        for_each_tensor(spec_call.call, [&](const std::string& at, const TensorArg& tensor) {
          if (at == path) values = tensor.values;
        });
        REQUIRE(values);
        return *values;
      }
    }
    FAIL("no call " << call);
    return Values{};
  };
  // From the model's source: the index given is [0, 2, 1], the table holds 0 to 11 (mean 5.5,
  // variance (12^2 - 1) / 12), the step is 3.
  const Values index = argument("aten.index.Tensor(f32[4,3;1,4], [null, i64[3]])", "indices.1");
  CHECK(index.kind == Values::Kind::data);
  CHECK(index.int_data == std::vector<std::int64_t>{0, 2, 1});
  const Values table = argument("aten.index.Tensor(f32[4,3;1,4], [null, i64[3]])", "self");
  CHECK(table.kind == Values::Kind::dist);
  CHECK(table.dist == Dist::normal);
  CHECK(table.mean == Approx(5.5));
  CHECK(table.std == Approx(std::sqrt(143.0 / 12)));
  CHECK(table.min == 0.0);
  CHECK(table.max == 11.0);
  const Values step = argument("aten.add.Tensor(i64[2,3], i64[])", "other");
  CHECK(step.int_data == std::vector<std::int64_t>{3});
  // masked_fill put -inf into x: a small tensor that is not finite is kept as it is.
  const Values masked = argument("aten.mul.Tensor(f32[5,4], 2.0)", "self");
  CHECK(masked.kind == Values::Kind::data);
  REQUIRE(masked.data.size() == 20);
  CHECK(std::count(masked.data.begin(), masked.data.end(), -INFINITY) > 0);
}

TEST_CASE("a node that fails ends the run with its place") {
  const fs::path file = k_models / "tiny_convnet.pt2";
  GraphRunRequest request;
  request.graph = read_pt2(file).graph;
  request.file = file.string();
  auto& nodes = request.graph.nodes;
  const auto linear = std::find_if(nodes.begin(), nodes.end(),
                                   [](const GraphNode& node) { return node.op == "aten.linear"; });
  REQUIRE(linear != nodes.end());
  linear->op = "aten.no_such_operator";
  GraphRun run = run_graph(request);
  CHECK_THAT(run.failure, Catch::Contains("torch.ops.aten.linear.default in head") &&
                              Catch::Contains("no loaded library has this operator"));
  CHECK(run.outputs.empty());
  CHECK(run.nodes.size() == static_cast<std::size_t>(linear - nodes.begin()));

  request.max_bytes = 100;
  CHECK_THAT(run_graph(request).failure, Catch::Contains("raise --max-bytes"));
}

TEST_CASE("corpus: models give the stored outputs") {
  const char* folder = std::getenv("OPREPLAY_CORPUS");
  if (!folder) {
    WARN("OPREPLAY_CORPUS is not set: the corpus of exported models is skipped");
    return;
  }
  const Json expected = Json::parse(read_text(fs::path(folder) / "expected.json"));
  // Random numbers drawn by Python's generator; operators of a library that is not here.
  const std::vector<std::string> other = {"torch_rng_dropout_train", "torch_custom_op"};
  int models = 0;
  for (const auto& [model, facts] : expected.items()) {
    const fs::path outputs = fs::path(folder) / "outputs" / (model + ".safetensors");
    if (!fs::exists(outputs) || std::count(other.begin(), other.end(), model)) continue;
    INFO(model);
    ++models;
    const GraphRun run = run_file(fs::path(folder) / facts["file"].get<std::string>());
    CHECK(run.failure == "");
    if (run.failure.empty()) check_outputs(run, read_safetensors(outputs), 64);
  }
  CHECK(models > 0);
}
