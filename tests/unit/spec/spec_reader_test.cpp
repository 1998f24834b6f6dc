#include <catch2/catch.hpp>
#include <cmath>

#include "opreplay/error.h"
#include "opreplay/spec.h"
#include "tests/support/temporary_folder.h"

namespace opreplay {
namespace {

using namespace testing;

const std::filesystem::path k_data = std::filesystem::path(OPREPLAY_TEST_DATA) / "specs";

const TensorArg& tensor(const OpCall& call, const std::string& name) {
  const Value* value = find_arg(call, name);
  REQUIRE(value);
  REQUIRE(value->get<TensorArg>());
  return *value->get<TensorArg>();
}

// The message of loading a file with this text; fails if it loads.
std::string problem(const std::string& text, const LoadLimits& limits = {}) {
  const TemporaryFolder folder;
  const auto file = folder.write("s.yaml", text);
  try {
    load_specs(file, limits);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::invalid_input);
    std::string message = error.what();
    // The folder's name is random.
    const std::string prefix = folder.path().string() + "/";
    for (std::size_t at; (at = message.find(prefix)) != std::string::npos;)
      message.erase(at, prefix.size());
    return message;
  }
  FAIL("loaded");
  return "";
}

// A spec of softmax whose call is `call` (indented by four).
std::string softmax(const std::string& call) {
  return "opspec: 1\nop: aten.softmax.int\n"
         "schema: \"softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor\"\n"
         "calls:\n" +
         call;
}

TEST_CASE("every key of the format is read") {
  const auto specs = load_specs(k_data / "aten.softmax.int.yaml");
  REQUIRE(specs.size() == 1);
  const OpSpec& spec = specs[0];
  CHECK(spec.op == "aten.softmax.int");
  CHECK(spec.schema == "softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor");
  CHECK(spec.source == SpecSource{"tiny_llama.pt2", "xxh3:4be1d00f5a6b7c8d", "2.13.0", "run"});
  CHECK(spec.scope == std::vector<std::string>{"shape.empty", "values"});
  CHECK(spec.vary == std::vector<std::string>{"+mode", "-layout"});
  CHECK(spec.tags == std::vector<std::string>{"dynamic", "amp"});
  REQUIRE(spec.tolerance);
  CHECK(*spec.tolerance == Tolerance{2, "the vendor documents 2 ulp"});
  REQUIRE(spec.known.size() == 1);
  CHECK(spec.known[0] ==
        KnownFailure{"npu", "aten.softmax.int(f16[2,4,16,16], -1) values.nan@first", "wrong_class",
                     "NaN is flushed", "https://example.org/1", "", "8.3.1"});
  REQUIRE(spec.calls.size() == 2);

  const SpecCall& first = spec.calls[0];
  CHECK(first.count == 24);
  CHECK(first.at ==
        std::vector<CallSite>{{"layers.0.self_attn", "modeling_llama.py:212"}, {"", ""}});
  CHECK(first.forward);
  CHECK(first.backward);
  CHECK_FALSE(first.replay_backward);
  CHECK(first.results == std::vector<TensorDesc>{make_desc(DType::f16, {2, 4, 16, 16})});
  REQUIRE(first.call.args.size() == 2);  // the default dtype is dropped
  CHECK(first.call.args[1].value == Value{std::int64_t{-1}});
  const TensorArg& self = tensor(first.call, "self");
  CHECK(self.desc == make_desc(DType::f16, {2, 4, 16, 16}));
  CHECK(self.dims == std::vector<std::string>{"b", "h", "s", "s"});
  CHECK(self.requires_grad);
  CHECK_FALSE(self.parameter);
  REQUIRE(self.values);
  Values values;
  values.mean = 0.0121;
  values.std = 1.02;
  values.min = -3.1;
  values.max = 2.9;
  CHECK(*self.values == values);

  const SpecCall& second = spec.calls[1];
  CHECK(second.count == 1);
  CHECK(second.forward);
  CHECK_FALSE(second.backward);
  CHECK(second.replay_backward);
  const TensorDesc& desc = tensor(second.call, "self").desc;
  CHECK(desc.strides == std::vector<std::int64_t>{1, 2});
  CHECK(desc.offset == 5);
  REQUIRE(second.call.args.size() == 3);
  CHECK(second.call.args[2].value == Value{Word{"f64"}});
}

TEST_CASE("lists of tensors, literal data and special values are read") {
  const auto specs = load_specs(k_data / "aten.cat.yaml");
  REQUIRE(specs.size() == 1);
  REQUIRE(specs[0].calls.size() == 2);
  const SpecCall& call = specs[0].calls[1];
  CHECK_FALSE(call.forward);
  CHECK(call.backward);
  const auto* tensors = call.call.args[0].value.get<List>();
  REQUIRE(tensors);
  REQUIRE(tensors->size() == 2);
  const auto* first = (*tensors)[0].get<TensorArg>();
  REQUIRE(first);
  CHECK(first->parameter);
  REQUIRE(first->values);
  CHECK(first->values->kind == Values::Kind::data);
  const auto& data = first->values->data;
  REQUIRE(data.size() == 6);
  CHECK(data[0] == 0);
  CHECK((data[1] == 0 && std::signbit(data[1])));
  CHECK(std::isnan(data[2]));
  CHECK(data[3] == HUGE_VAL);
  CHECK(data[4] == -HUGE_VAL);
  CHECK(data[5] == 0.1);
}

TEST_CASE("a custom operator is read by the schema of its own file") {
  const auto specs = load_specs(k_data / "h4lib.scaled_gather.yaml");
  REQUIRE(specs.size() == 1);
  REQUIRE(specs[0].calls.size() == 1);
  const OpCall& call = specs[0].calls[0].call;
  // Schema order, whatever the order in the file.
  CHECK(to_string(call) == "h4lib.scaled_gather(f32[4,3], i64[2], 0.5, \"fast\")");
  const TensorArg& table = tensor(call, "table");
  REQUIRE(table.values);
  CHECK(table.values->dist == Dist::signs);
  REQUIRE(table.values->places.size() == 1);
  CHECK(table.values->places[0].where == Where::first);
  CHECK(std::isnan(table.values->places[0].value));
  const TensorArg& index = tensor(call, "index");
  CHECK(index.storage_unknown);
  REQUIRE(index.values);
  // 2^53 + 1 survives: integer data never passes through a double.
  CHECK(index.values->int_data == std::vector<std::int64_t>{3, 9007199254740993});
}

TEST_CASE("a folder gives its files in name order, others than *.yaml left alone") {
  const TemporaryFolder folder;
  const std::string text = read_file(k_data / "aten.cat.yaml");
  for (const char* name : {"b.yaml", "a/z.yaml", "a.yaml", "notes.txt", "c.yaml.partial"})
    folder.write(name, text);
  std::vector<std::string> files;
  for (const OpSpec& spec : load_specs(folder.path()))
    files.push_back(std::filesystem::relative(spec.file, folder.path()).string());
  CHECK(files == std::vector<std::string>{"a/z.yaml", "a.yaml", "b.yaml"});
}

TEST_CASE("each mistake is reported with its place, what was expected and what was found") {
  struct Row {
    std::string call, expected;
  };
  const std::vector<Row> rows = {
      {"  - {args: {self: \"f32[2]\", dim: 0}, cuont: 3}\n",
       "s.yaml:5:38: calls.0: unknown key \"cuont\"; expected id, count, at, phase, "
       "replay_backward, args, results; nearest valid word: count"},
      {"  - {args: {self: \"f32[2]\", dim: 0}, count: 0}\n",
       "s.yaml:5:45: calls.0.count: expected a whole number of at least 1, found \"0\""},
      {"  - {args: {self: \"f32[2]\", dim: 0}, phase: [forwards]}\n",
       "s.yaml:5:46: calls.0.phase: expected one of forward, backward, found \"forwards\"; nearest "
       "valid word: forward"},
      {"  - {args: {self: \"f32[2]\", dim: 0}, replay_backward: yes}\n",
       "s.yaml:5:55: calls.0.replay_backward: expected true or false, found \"yes\""},
      {"  - {args: {self: \"f32[2]\"}}\n",
       "s.yaml:5:12: calls.0: aten.softmax.int: argument 'dim'"},
      {"  - {args: {self: \"f32[2]\", dim: 0.5}}\n",
       "s.yaml:5:34: calls.0: aten.softmax.int: "
       "argument 'dim': expected int"},
      {"  - {args: {self: \"f32[2]\", dim: 0, dtype: f23}}\n", "s.yaml:5:44: calls.0: "},
      {"  - {args: {self: \"f33[2]\", dim: 0}}\n", "s.yaml:5:19: calls.0.self: "},
      {"  - {args: {self: \"f32[-2]\", dim: 0}}\n", "s.yaml:5:19: calls.0.self: "},
      {"  - {args: {self: [1], dim: 0}}\n",
       "s.yaml:5:19: calls.0.self: expected Tensor, found a list"},
      {"  - {args: {self: {dims: [a]}, dim: 0}}\n",
       "s.yaml:5:19: calls.0.self: key tensor is missing"},
      {"  - {args: {self: {tensor: \"f32[2]\", dims: [a, b]}, dim: 0}}\n",
       "s.yaml:5:44: calls.0.self.dims: expected 1 names, one per dim, found 2"},
      {"  - {args: {self: {tensor: \"f32[2,3]\", dims: [a, a]}, dim: 0}}\n",
       "s.yaml:5:50: calls.0.self.dims: \"a\" means size 2 in this call, found 3"},
      {"  - {args: {self: {tensor: \"f32[2,3]\", dims: [2, \"c%2\"]}, dim: 0}}\n",
       "s.yaml:5:50: calls.0.self.dims: 3 is no multiple of 2"},
      {"  - {args: {self: {tensor: \"f32[2]\", dims: [\"a b\"]}, dim: 0}}\n",
       "s.yaml:5:45: calls.0.self.dims: expected a name, a number, or one of b*s, c%4, <=h"},
      {"  - {args: {self: {tensor: \"f32[2]\", view: conj}, dim: 0}}\n",
       "s.yaml:5:44: calls.0.self: key view is not supported by this version"},
      {"  - {args: {self: {tensor: \"f32[2]\", device: cuda}, dim: 0}}\n",
       "s.yaml:5:46: calls.0.self.device: expected one of cpu, found \"cuda\""},
      {"  - {id: 3a3a9355452bd5d4, args: {self: \"f16[2,4,16,16]\", dim: -1}}\n",
       "s.yaml:5:10: calls.0.id: expected 3a3a9355452bd5d5, the id of these arguments, found "
       "\"3a3a9355452bd5d4\""},
      {"  - {args: {self: {tensor: \"f32[2]\", values: {dist: normal, p: 1}}, dim: 0}}\n",
       "s.yaml:5:64: calls.0.self.values: p is no parameter of normal"},
      {"  - {args: {self: {tensor: \"f32[2]\", values: {dist: uniform, low: 3, high: 1}}, dim: "
       "0}}\n",
       "s.yaml:5:46: calls.0.self.values: low must be less than high"},
      {"  - {args: {self: {tensor: \"f32[2]\", values: {dist: gauss}}, dim: 0}}\n",
       "s.yaml:5:53: calls.0.self.values.dist: expected one of normal, uniform"},
      {"  - {args: {self: {tensor: \"f32[2]\", values: {fill: 1, data: [1, 2]}}, dim: 0}}\n",
       "s.yaml:5:46: calls.0.self.values: expected exactly one of dist, fill, data, file; found 2"},
      {"  - {args: {self: {tensor: \"f32[2]\", values: {data: [1, 2, 3]}}, dim: 0}}\n",
       "s.yaml:5:53: calls.0.self.values.data: expected 2 numbers in row-major order, found 3"},
      {"  - {args: {self: {tensor: \"i8[2]\", values: {data: [1, 0.5]}}, dim: 0}}\n",
       "s.yaml:5:56: calls.0.self.values.data: expected a whole number, found \"0.5\""},
      {"  - {args: {self: {tensor: \"f32[2]\", values: {fill: 0, place: [{at: [2], value: 1}]}}, "
       "dim: 0}}\n",
       "s.yaml:5:70: calls.0.self.values.place.at: expected a whole number from 0 to 1, found "
       "\"2\""},
  };
  for (const Row& row : rows) {
    INFO(row.call);
    const std::string message = problem(softmax(row.call));
    CHECK_THAT(message, Catch::StartsWith(row.expected));
    CHECK(message.find('\n') == std::string::npos);  // this one problem only
  }
}

TEST_CASE("mistakes at the top of a file are reported") {
  CHECK_THAT(problem("op: aten.relu\n"),
             Catch::Contains("s.yaml:1:1: op-spec: key opspec is missing"));
  CHECK_THAT(problem("opspec: 2\nop: aten.relu\nnew_key: 1\n"),
             Catch::Equals("s.yaml:1:9: opspec: the file has format 2, this version reads 1; use a "
                           "newer opreplay"));
  CHECK_THAT(problem("opspec: one\n"), Catch::StartsWith("s.yaml:1:9: opspec: expected a whole"));
  CHECK_THAT(problem("- 1\n"), Catch::StartsWith("s.yaml:1:1: op-spec: expected a map"));
  CHECK_THAT(problem("opspec: 1\nop: aten.relu\nschema: \"sigmoid(Tensor self) -> Tensor\"\n"
                     "calls: []\n"),
             Catch::Equals("s.yaml:3:9: schema: expected the schema of aten.relu, found that of "
                           "aten.sigmoid"));
  CHECK_THAT(problem("opspec: 1\nop: aten.relu\nschema: \"relu(Tensor self -> Tensor\"\n"
                     "calls: []\n"),
             Catch::StartsWith("s.yaml:3:9: schema: "));
  CHECK_THAT(
      problem(softmax("  - {args: {self: \"f32[2]\", dim: 0}}\n") + "tags: [quantized]\n"),
      Catch::StartsWith("s.yaml:6:8: tags: expected one of custom_op, dynamic, amp, "
                        "quantised, rng, found \"quantized\"; nearest valid word: quantised"));
  CHECK_THAT(problem(softmax("  - {args: {self: \"f32[2]\", dim: 0}}\n") + "vary: [\"-valves\"]\n"),
             Catch::EndsWith("nearest valid word: values"));
  CHECK_THAT(
      problem(softmax("  - {args: {self: \"f32[2]\", dim: 0}}\n") + "tolerance: {factor: 2}\n"),
      Catch::Equals("s.yaml:6:12: tolerance: key why is missing"));
  CHECK_THAT(problem(softmax("  - {args: {self: \"f32[2]\", dim: 0}}\n") +
                     "tolerance: {factor: 0.5, why: x}\n"),
             Catch::StartsWith("s.yaml:6:21: tolerance.factor: expected a finite factor"));
  CHECK_THAT(
      problem(softmax("  - {args: {self: \"f32[2]\", dim: 0}}\n") + "rule: {oracle: gelu}\n"),
      Catch::StartsWith("s.yaml:6:7: op-spec: key rule is not supported by this version"));
}

TEST_CASE("all problems of all files come in one go") {
  const TemporaryFolder folder;
  folder.write("b/2.yaml", softmax("  - {args: {self: \"f33[2]\", dim: 0}, count: x}\n"));
  folder.write("a.yaml", "opspec: 1\nfoo: 1\n");
  try {
    load_specs(folder.path());
    FAIL("loaded");
  } catch (const Error& error) {
    const std::string message = error.what();
    const std::size_t first = message.find("a.yaml:2:1: op-spec: unknown key \"foo\"");
    const std::size_t second = message.find("b/2.yaml:5:19: ");
    const std::size_t third = message.find("b/2.yaml:5:45: calls.0.count");
    CHECK(first < second);
    CHECK(second < third);
    CHECK(third != std::string::npos);
  }
}

TEST_CASE("tensors beyond the limit are refused before anything is made") {
  LoadLimits limits;
  limits.max_bytes = 1000;
  CHECK_THAT(
      problem(softmax("  - args: {self: \"f32[251]\", dim: 0}\n"), limits),
      Catch::Equals("s.yaml:5:5: calls.0: arguments need 1004 bytes, the limit is 1000; raise "
                    "it with --max-bytes"));
  // The last element of a strided tensor decides: 9 + 1*120 + 1 = 130 doubles.
  CHECK_THAT(problem(softmax("  - args: {self: \"f64[2,2;120,0+9]\", dim: 0}\n"), limits),
             Catch::Contains("1040 bytes"));
  // 2^60 f64 elements are 2^63 bytes.
  CHECK_THAT(problem(softmax("  - args: {self: \"f64[1152921504606846976]\", dim: 0}\n"), limits),
             Catch::Contains("more than 2^63 bytes"));
  const TemporaryFolder folder;
  // One storage counts once.
  const auto file = folder.write(
      "s.yaml",
      "opspec: 1\nop: aten.add_.Tensor\nschema: \"add_.Tensor(Tensor(a!) self, Tensor other, *, "
      "Scalar alpha=1) -> Tensor(a!)\"\ncalls: [{args: {self: \"f32[200]&a\", other: "
      "\"f32[200]&a\"}}]\n");
  CHECK(load_specs(file, limits).size() == 1);
  limits.max_bytes = 799;
  CHECK_THROWS_AS(load_specs(file, limits), Error);
  limits.max_file_bytes = 20;
  CHECK_THAT(problem(softmax(""), limits), Catch::Contains("s.yaml: 116 bytes; at most 20"));
}

TEST_CASE("data files are looked for inside the spec's folder only") {
  const TemporaryFolder outer;
  outer.write("secret.safetensors", "x");
  outer.write("specs/blobs.safetensors", "x");
  outer.write("specs/deep/blobs.safetensors", "x");
  std::filesystem::create_symlink(outer.path() / "secret.safetensors",
                                  outer.path() / "specs/link.safetensors");
  std::filesystem::create_directory_symlink(outer.path(), outer.path() / "specs/up");
  const auto load = [&](const std::string& file) {
    return load_specs(outer.write(
        "specs/s.yaml", softmax("  - args: {self: {tensor: \"f32[2]\", values: {file: \"" + file +
                                "\", key: x}}, dim: 0}\n")));
  };
  const auto message = [&](const std::string& file) -> std::string {
    try {
      load(file);
    } catch (const Error& error) {
      return error.what();
    }
    return "loaded";
  };
  const auto specs = load("deep/blobs.safetensors");
  const TensorArg& self = tensor(specs[0].calls[0].call, "self");
  REQUIRE(self.values);
  CHECK(self.values->kind == Values::Kind::file);
  CHECK(self.values->file == "deep/blobs.safetensors");
  CHECK(self.values->key == "x");
  CHECK_THAT(message("../secret.safetensors"), Catch::Contains("leads out of this file's folder"));
  CHECK_THAT(message("deep/../../secret.safetensors"), Catch::Contains("leads out"));
  CHECK_THAT(message((outer.path() / "secret.safetensors").string()),
             Catch::Contains("must be a path relative"));
  CHECK_THAT(message("link.safetensors"), Catch::Contains("reached through a link"));
  CHECK_THAT(message("up/secret.safetensors"), Catch::Contains("reached through a link"));
  CHECK_THAT(message("gone.safetensors"), Catch::Contains("is not there"));
  CHECK_THAT(message("deep"), Catch::Contains("is no file"));
}

TEST_CASE("what cannot be read as specs is an error that names it") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(load_specs(folder.path() / "none.yaml"),
                    Catch::Contains("none.yaml: cannot read"));
  CHECK_THROWS_WITH(load_specs(folder.path()), Catch::Contains("found no *.yaml file"));
}

}  // namespace
}  // namespace opreplay
