#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "opreplay/session.h"
#include "tests/support/temporary_folder.h"

// Each fault of the simulated device yields exactly its status and reason. What the reason must be
// follows from the definition of the fault (docs/faults.md) and of the reasons (docs/verdicts.md).

using namespace opreplay;
using opreplay::testing::TemporaryFolder;

namespace {

struct FaultRow {
  const char* name;
  const char* fault;  ///< when and do, as YAML
  const char* op;     ///< glob of the fault
  const char* run;    ///< the case
  Status status;
  Reason reason;
  const char* detail = "";  ///< must be part of the verdict's detail or of the outcome's text
};

const FaultRow k_rows[] = {
    {"no_kernel", "do: {no_kernel: true}", "aten.silu", "aten.silu(f32[4,8])", Status::blocked,
     Reason::no_kernel, "silu"},
    {"no_kernel of an inner op", "do: {no_kernel: true}", "aten.mm",
     "aten.linear(f32[4,8], f32[3,8])", Status::blocked, Reason::no_kernel, "mm"},
    {"throw", "do: {throw: {class: RuntimeError, text: 'matrix engine is busy'}}", "aten.exp",
     "aten.exp(f32[16])", Status::blocked, Reason::rejected_input, "matrix engine is busy"},
    {"throw at synchronise", "do: {throw: {class: RuntimeError, text: 'error 507035', sync: true}}",
     "aten.exp", "aten.exp(f32[16])", Status::blocked, Reason::device_error, "507035"},
    {"crash by SEGV", "do: {crash: SEGV}", "aten.relu", "aten.relu(f32[8])", Status::blocked,
     Reason::crash, "SIGSEGV"},
    {"crash by ABRT", "do: {crash: ABRT}", "aten.relu", "aten.relu(f32[8])", Status::blocked,
     Reason::crash, "SIGABRT"},
    {"crash by FPE", "do: {crash: FPE}", "aten.relu", "aten.relu(f32[8])", Status::blocked,
     Reason::crash, "SIGFPE"},
    {"crash on empty input only", "when: {empty: true}\n    do: {crash: SEGV}", "aten.relu",
     "aten.relu(f32[4,8]) shape.empty_batch", Status::blocked, Reason::crash, ""},
    {"hang", "do: {hang: 600}", "aten.relu", "aten.relu(f32[8])", Status::blocked, Reason::hang,
     ""},
    {"one element 1 % off", "do: {element: {index: 7, factor: 1.01}}", "aten.exp",
     "aten.exp(f32[16])", Status::blocked, Reason::wrong_value, "[7]"},
    {"all zeros", "do: {zeros: true}", "aten.softmax.int", "aten.softmax.int(f32[8,4096], -1)",
     Status::blocked, Reason::wrong_value, ""},
    {"last row zero", "do: {tail: {dim: 0, from: 1024, value: 0}}", "aten.add.Tensor",
     "aten.add.Tensor(f32[1025,4], f32[1025,4])", Status::blocked, Reason::wrong_value, "[1024"},
    {"dropped NaN", "when: {has: nan}\n    do: {map: {nan: 0.0}}", "aten.clamp*",
     "aten.clamp(f32[2,3,4,5], 0.0, 1.0) values.nan@first", Status::blocked, Reason::wrong_class,
     "[0,0,0,0]"},
    {"Inf saturated", "do: {map: {inf: max}}", "aten.exp", "aten.exp(f32[4,4]) values.inf@last",
     Status::blocked, Reason::wrong_class, ""},
    {"ignored stride", "do: {ignore: {stride: self}}", "aten.relu",
     "aten.relu(f32[4,6]) layout.transposed", Status::blocked, Reason::wrong_value, ""},
    {"ignored offset", "do: {ignore: {offset: self}}", "aten.relu",
     "aten.relu(f32[4,6]) layout.offset", Status::blocked, Reason::wrong_value, ""},
    {"visible CPU fallback", "do: {cpu_fallback: true}", "aten.silu", "aten.silu(f32[4,8])",
     Status::substitute, Reason::cpu_fallback, "_to_cpu"},
    {"silent CPU fallback", "do: {silent_cpu: true}", "aten.silu", "aten.silu(f32[4,8])",
     Status::substitute, Reason::cpu_fallback, "inside aten::silu"},
    {"10-bit mantissa inputs", "do: {round: {mantissa: 10}}", "aten.mm",
     "aten.mm(f32[64,256], f32[256,64])", Status::substitute, Reason::precision_downgrade, ""},
    {"modified input", "do: {modify_input: self}", "aten.exp", "aten.exp(f32[16])", Status::blocked,
     Reason::input_modified, "self"},
    {"wrong shape", "do: {wrong_shape: [4, 4]}", "aten.exp", "aten.exp(f32[16])", Status::blocked,
     Reason::wrong_shape, "[4,4]"},
    {"wrong dtype", "do: {wrong_dtype: f16}", "aten.exp", "aten.exp(f32[16])", Status::blocked,
     Reason::wrong_dtype, "f16"},
};

std::string fault_file(const FaultRow& row) {
  std::ostringstream out;
  out << "simdevice: 1\nfaults:\n  - name: planted\n    op: \"" << row.op << "\"\n    " << row.fault
      << "\n";
  return out.str();
}

std::string everything_said(const CaseResult& result) {
  return result.verdict.detail + "\n" + failure_text(result);
}

}  // namespace

TEST_CASE("each fault yields exactly its status and reason") {
  const TemporaryFolder folder;
  for (const FaultRow& row : k_rows) {
    const auto file = folder.write("fault.yaml", fault_file(row));
    Session session({.device = "sim:" + file.string(), .timeout_s = 5});
    const CaseResult result = session.run(session.parse(row.run));
    INFO(row.name << ": " << everything_said(result));
    CHECK(to_string(result.verdict.status) == to_string(row.status));
    CHECK(to_string(result.verdict.reason) == to_string(row.reason));
    CHECK_THAT(everything_said(result), Catch::Matchers::Contains(row.detail));
    CHECK_THAT(result.repro, Catch::Matchers::Contains("opreplay run '" + std::string(row.run)));
  }
}

TEST_CASE("a fault leaves the cases beside it alone") {
  const TemporaryFolder folder;
  for (const FaultRow& row : k_rows) {
    const auto file = folder.write("fault.yaml", fault_file(row));
    Session session({.device = "sim:" + file.string(), .timeout_s = 5});
    const auto before = session.run(session.parse("aten.neg(f32[3,5])"));
    const auto faulty = session.run(session.parse(row.run));
    const auto after = session.run(session.parse("aten.neg(f32[3,5])"));
    INFO(row.name);
    CHECK(before.verdict.status == Status::pass);
    CHECK(to_string(faulty.verdict.reason) == to_string(row.reason));
    CHECK(after.verdict.status == Status::pass);
  }
}
