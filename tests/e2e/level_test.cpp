#include <catch2/catch.hpp>

#include "opreplay/session.h"
#include "tests/support/temporary_folder.h"

// A device that computes in a lower precision than it is asked to: which one is named. What is
// right is what the fault says the device does (docs/faults.md).

using namespace opreplay;
using opreplay::testing::TemporaryFolder;

namespace {

struct LevelRow {
  const char* op;  ///< of the fault
  const char* does;
  const char* run;
  const char* format;
};

const LevelRow k_levels[] = {
    {"aten.mm", "round: {mantissa: 10}", "aten.mm(f32[32,64], f32[64,32])",
     "10-bit mantissa inputs"},
    {"aten.mm", "round: {mantissa: 10}", "aten.mm(f32[8,4096], f32[4096,8])",
     "10-bit mantissa inputs"},
    {"aten.mm", "round: {mantissa: 7}", "aten.mm(f32[4,64], f32[64,4])", "bf16 inputs"},
    {"aten.mm", "round: {mantissa: 7}", "aten.mm(f32[8,4096], f32[4096,8])", "bf16 inputs"},
    // In f16 the bounds of rounded inputs and of a narrow accumulator cross near K = 270.
    {"aten.mm", "round: {mantissa: 7}", "aten.mm(f16[32,64], f16[64,32])", "bf16 inputs"},
    {"aten.mm", "round: {mantissa: 7}", "aten.mm(f16[32,1024], f16[1024,32])", "bf16 inputs"},
    {"aten.mm", "accumulate: f16", "aten.mm(f16[32,64], f16[64,32])", "accumulation in f16"},
    {"aten.mm", "accumulate: f16", "aten.mm(f16[32,1024], f16[1024,32])", "accumulation in f16"},
    {"aten.mm", "accumulate: bf16", "aten.mm(bf16[32,256], bf16[256,32])", "accumulation in bf16"},
    {"aten.mm", "as_dtype: f32", "aten.mm(f64[32,256], f64[256,32])", "f32 arithmetic"},
    {"aten.mm", "as_dtype: bf16", "aten.mm(f32[32,256], f32[256,32])", "bf16 arithmetic"},
    {"aten.exp", "as_dtype: f32", "aten.exp(f64[4,8])", "f32 arithmetic"},
    {"aten.exp", "as_dtype: f16", "aten.exp(f32[4,8])", "f16 arithmetic"},
    {"aten.exp", "as_dtype: bf16", "aten.exp(f32[4,8])", "bf16 arithmetic"},
    {"aten.exp", "as_dtype: bf16", "aten.exp(f16[4,8])", "bf16 arithmetic"},
    {"aten.add.Tensor", "as_dtype: f32", "aten.add.Tensor(f64[4,8], f64[4,8])", "f32 arithmetic"},
    {"aten.add.Tensor", "as_dtype: bf16", "aten.add.Tensor(f32[4,8], 0.1)", "bf16 arithmetic"},
    {"aten.sin", "as_dtype: f32", "aten.sin(f64[64])", "f32 arithmetic"},
    {"aten._softmax", "as_dtype: f32", "aten.softmax.int(f64[4,80], -1)", "f32 arithmetic"},
    {"aten.native_layer_norm", "as_dtype: f32", "aten.layer_norm(f64[4,80], [80])",
     "f32 arithmetic"},
};

/// Near a lower format, but not in it; and copies, which have no precision to lose.
const LevelRow k_wrong[] = {
    {"aten.exp", "scale: 1.001", "aten.exp(f32[4,8])", ""},
    {"aten.exp", "scale: 1.0000002", "aten.exp(f64[4,8])", ""},
    {"aten.exp", "element: {index: 7, factor: 1.01}", "aten.exp(f32[16])", ""},
    {"aten.exp", "zeros: true", "aten.exp(f32[16])", ""},
    {"aten.relu", "as_dtype: bf16", "aten.relu(f32[4,8])", ""},
};

CaseResult run(const TemporaryFolder& folder, const LevelRow& row) {
  const auto file =
      folder.write("fault.yaml", "simdevice: 1\nfaults:\n  - name: planted\n    op: \"" +
                                     std::string(row.op) + "\"\n    do: {" + row.does + "}\n");
  Session session({.device = "sim:" + file.string()});
  return session.run(session.parse(row.run));
}

}  // namespace

TEST_CASE("a lower precision is named after what the device does") {
  const TemporaryFolder folder;
  for (const LevelRow& row : k_levels) {
    const CaseResult result = run(folder, row);
    INFO(row.op << " " << row.does << "\n" << failure_text(result));
    CHECK(to_string(result.verdict.reason) == to_string(Reason::precision_downgrade));
    REQUIRE(result.outcome.outputs.size() > 0);
    CHECK(result.outcome.outputs[0].downgrade == row.format);
  }
}

TEST_CASE("what no lower precision explains is a wrong value") {
  const TemporaryFolder folder;
  for (const LevelRow& row : k_wrong) {
    const CaseResult result = run(folder, row);
    INFO(row.op << " " << row.does << "\n" << failure_text(result));
    CHECK(to_string(result.verdict.reason) == to_string(Reason::wrong_value));
  }
}
