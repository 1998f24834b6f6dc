#include "lib/torch/replay.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "lib/base/case_parser.h"
#include "lib/spec/schema_table.h"
#include "lib/torch/inputs.h"

// One case through lib/torch in this process, with the CPU as target: every channel must agree with
// itself, and what the reference side gathers must be right.

using namespace opreplay;

namespace {

JournalPage g_page;

Outcome run(const std::string& text, OracleRule oracle, Values values = {}) {
  ReplayRequest request;
  request.calls = parse_case(text, shipped_schemas()).calls;
  for_each_tensor(request.calls.back(), [&](const std::string&, TensorArg& tensor) {
    if (is_floating(tensor.desc.dtype)) {
      tensor.values = values;
    } else {
      tensor.values = Values{.dist = Dist::randint, .low = 0, .high = 3};
    }
  });
  request.oracle = std::move(oracle);
  Journal journal(&g_page);
  return replay(request, ReplayTarget{}, journal);
}

void check_agrees(const Outcome& outcome) {
  CHECK(outcome.stage == Stage::done);
  CHECK_FALSE(outcome.reference);
  CHECK_FALSE(outcome.target);
  REQUIRE_FALSE(outcome.outputs.empty());
  for (const OutputComparison& out : outcome.outputs) {
    INFO(out.name << " max_abs " << out.max_abs << " ratio " << out.worst_ratio);
    CHECK(out.structure_ok());
    CHECK(out.compared);
    CHECK(out.bad == 0);
    CHECK(out.classes.nan == 0);
    CHECK(out.classes.inf == 0);
  }
  CHECK(outcome.inputs_modified.empty());
  CHECK(outcome.alias_differences.empty());
}

}  // namespace

TEST_CASE("the CPU agrees with its own fp64 reference") {
  check_agrees(run("aten.exp(f32[4,8])", {"elementwise", {{"ulp", "4"}}}));
  check_agrees(run("aten.add.Tensor(f16[4,8], f16[8], alpha=2)", {"elementwise", {{"ulp", "4"}}}));
  check_agrees(run("aten.add.Tensor(i64[4,8], 3)", {"exact_int", {}}));
  check_agrees(run("aten.transpose.int(f32[4,8], 0, 1)", {"exact_copy", {}}));
  check_agrees(run("aten.split.Tensor(f32[4,8], 3, 1)", {"exact_copy", {}}));
  check_agrees(run("aten.cat([f32[2,3], f32[0,3]], 0)", {"exact_copy", {}}));
  check_agrees(run("aten.arange(5, device=cpu)", {"exact_copy", {}}));
  check_agrees(run("aten.embedding(f32[3,4], i64[2,5])", {"exact_copy", {}}));
}

TEST_CASE("complex numbers agree component by component") {
  check_agrees(run("aten.mul.Tensor(c64[4,8], c64[8])", {"elementwise", {{"kind", "exact_real"}}}));
  check_agrees(run("aten.add.Tensor(c64[4,8], f32[8])", {"elementwise", {{"kind", "exact"}}}));
  check_agrees(run("aten.abs(c64[4,8])", {"elementwise", {{"kind", "exact_real"}}}));
  check_agrees(run("aten.mm(c64[4,8], c64[8,3])", {"accumulate", {}}));
  check_agrees(run("aten.fft_fft(c64[4,8])", {"fft", {{"reduce", "dim"}}}));
  check_agrees(run("aten.fft_irfft(c64[4,5])", {"fft", {{"reduce", "dim"}}}));
  // A model that holds for real numbers only gives no verdict.
  const Outcome real_only = run("aten.sin(c64[4])", {"sin_cos", {}});
  CHECK(real_only.evidence == "the error model of this operator holds for real numbers only");
  CHECK_FALSE(real_only.outputs.at(0).compared);
}

TEST_CASE("both parts of complex inputs take another format of numbers") {
  ReplayRequest request;
  request.calls = parse_case("aten.abs(c64[2])", shipped_schemas()).calls;
  for_each_tensor(request.calls.back(), [](const std::string&, TensorArg& tensor) {
    tensor.values = Values{.kind = Values::Kind::data, .data = {1.25, -2.5, 3.75, 0.5}};
  });
  const InputImage image(request, 1 << 20);
  const InputImage whole = image.with_numbers([](double x) { return std::trunc(x); });
  const auto* parts = static_cast<const float*>(whole.storages().at(0).flat.const_data_ptr());
  CHECK(std::vector<float>(parts, parts + 4) == std::vector<float>{1, -2, 3, 0});
}

TEST_CASE("a seeded call is judged by its law, an uninitialised one by its metadata") {
  const Outcome drawn = run("aten.rand([2000])", {"random", {{"law", "uniform"}}});
  check_agrees(drawn);
  CHECK(drawn.evidence == "law");
  const Outcome empty = run("aten.empty_like(f32[4])", {"structure", {}});
  CHECK(empty.evidence == "metadata only");
  CHECK(empty.outputs.at(0).model == "structure");
  CHECK_FALSE(empty.outputs.at(0).compared);
}

TEST_CASE("an in-place call is compared once, as its result") {
  const Outcome outcome = run("aten.relu_(f32[4,8])", {"exact_copy", {}});
  check_agrees(outcome);
  REQUIRE(outcome.outputs.size() == 1);
  CHECK(outcome.outputs[0].name == "out");
}

TEST_CASE("an argument changed without an alias mark is compared as an output") {
  // Training-mode batch_norm updates the running statistics; its schema does not say so.
  const Outcome outcome =
      run("aten.batch_norm(f32[4,3], f32[3], f32[3], f32[3], f32[3], true, 0.1, 1e-05, false)",
          {"exact_copy", {}});
  REQUIRE(outcome.outputs.size() == 3);
  CHECK(outcome.outputs[1].name == "running_mean");
  CHECK(outcome.outputs[2].name == "running_var");
  CHECK(outcome.inputs_modified.empty());
}

TEST_CASE("a call the CPU rejects is rejected by both references, and the target is not asked") {
  const Outcome outcome = run("aten.mm(f32[2,3], f32[4,5])", {"elementwise", {}});
  REQUIRE(outcome.reference);
  CHECK(outcome.reference->message.find("cannot be multiplied") != std::string::npos);
  REQUIRE(outcome.reference64);
  CHECK(outcome.stage == Stage::reference);
}

TEST_CASE(
    "a call that draws random numbers is not compared by value, a seeded one that draws none is") {
  const OracleRule copy{"exact_copy", {}};
  CHECK_FALSE(run("aten.dropout(f32[64], 0.5, true)", copy).outputs[0].compared);
  CHECK(run("aten.dropout(f32[64], 0.5, false)", copy).outputs[0].compared);
}

TEST_CASE("without a rule the general model judges what is a function of rounded inputs") {
  const Outcome exp = run("aten.exp(f32[4])", {});
  REQUIRE(exp.outputs.size() == 1);
  CHECK(exp.outputs[0].compared);
  CHECK(exp.outputs[0].model == "generic");
  CHECK(exp.evidence == "fp64");

  const Outcome sort = run("aten.sort(f32[4,8])", {});
  REQUIRE(sort.outputs.size() == 2);
  CHECK(sort.outputs[0].compared);
  CHECK(sort.outputs[1].compared);  // indices, bit by bit
}

TEST_CASE("without a rule, what is drawn, unwritten or an integer has its structure compared") {
  const std::pair<const char*, const char*> rows[] = {
      {"aten.dropout(f32[64], 0.5, true)", "random"},
      {"aten.empty_like(f32[4])", "not initialised"},
      {"aten.argmax(f32[4])", "no result is floating"},
      {"aten.nonzero(f32[4])", "shapes as data-dependent"},
  };
  for (const auto& [text, why] : rows) {
    INFO(text);
    const Outcome outcome = run(text, {});
    REQUIRE(outcome.outputs.size() == 1);
    CHECK_FALSE(outcome.outputs[0].compared);
    CHECK(outcome.outputs[0].structure_ok());
    CHECK(outcome.evidence.find(why) != std::string::npos);
  }
}

TEST_CASE("input bytes depend on the seed and the call, nothing else") {
  const auto first = run("aten.exp(f32[4,8])", {"elementwise", {}});
  const auto again = run("aten.exp(f32[4,8])", {"elementwise", {}});
  const auto other = run("aten.exp(f32[4,8])", {"elementwise", {}}, Values{.std = 2});
  CHECK(first.input_hash == again.input_hash);
  CHECK(first.output_hash == again.output_hash);
  CHECK(first.input_hash != other.input_hash);
}

TEST_CASE("the same logical values whatever the layout") {
  const auto dense = run("aten.exp(f32[4,8])", {"elementwise", {}});
  const auto strided = run("aten.exp(f32[4,8;1,4])", {"elementwise", {}});
  CHECK(dense.output_hash == strided.output_hash);
}

TEST_CASE("the dispatch table's word is kept") {
  CHECK(run("aten.relu(f32[4])", {"exact_copy", {}}).kernel == "kernel");
  CHECK(run("aten.linear(f32[4,8], f32[3,8])", {}).kernel == "math kernel");
}

TEST_CASE("an operator nobody registers is reported, not crashed on") {
  ReplayRequest request;
  request.calls = {OpCall{"nowhere.op", {}}};
  Journal journal(&g_page);
  const Outcome outcome = replay(request, ReplayTarget{}, journal);
  REQUIRE(outcome.reference);
  CHECK(outcome.reference->message.find("nowhere.op") != std::string::npos);
}
