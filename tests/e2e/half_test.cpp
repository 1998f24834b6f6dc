#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "lib/base/case_parser.h"
#include "lib/plan/rules.h"
#include "lib/spec/schema_table.h"
#include "opreplay/session.h"
#include "tests/support/honest_devices.h"
#include "tests/support/tier.h"

// No false alarm, operator by operator, in every floating dtype: what an honest device gives is
// right by definition, however torch's CPU rounds. The simulated device computes halves in f32 and
// rounds once; sums are added in four orders.

using namespace opreplay;
using namespace opreplay::testing;

namespace {

constexpr std::array k_dtypes = {DType::f16, DType::bf16, DType::f32, DType::f64};

/// Calls that the schema alone does not tell: T stands for the dtype.
const std::map<std::string, std::string> k_arguments = {
    {"aten.clamp", "T[4,8], -0.7, 0.7"},
    {"aten.clamp_", "T[4,8], -0.7, 0.7"},
    {"aten.clip", "T[4,8], -0.7, 0.7"},
    {"aten.clamp.out", "T[4,8], -0.7, 0.7, out=T[4,8]"},
    {"aten.clamp.Tensor", "T[4,8], T[8], T[4,8]"},
    {"aten.outer", "T[4], T[8]"},
    {"aten.prelu", "T[4,8], T[8]"},
};

/// torch has the operator in no half, on no device; the simulated one has what the CPU has.
bool lacks_half(const std::string& op, const CaseResult& result) {
  return op.starts_with("aten.polar") && result.verdict.reason == Reason::unsupported_dtype;
}

/// Every argument without a default: tensors of one shape, numbers that no half holds.
std::string arguments(const std::string& op) {
  if (const auto known = k_arguments.find(op); known != k_arguments.end()) return known->second;
  const Schema* schema = shipped_schemas().find(op);
  REQUIRE(schema);
  std::string out;
  for (const SchemaArg& arg : schema->args) {
    if (arg.default_value || arg.type.optional) continue;
    out += out.empty() ? "" : ", ";
    if (arg.keyword_only) out += arg.name + "=";
    out += arg.type.base == SchemaBase::tensor ? "T[4,8]" : "0.7";
  }
  return out;
}

/// The text with every T replaced.
std::string with_dtype(const std::string& text, DType dtype) {
  std::string out;
  for (const char c : text) out += c == 'T' ? std::string(name(dtype)) : std::string(1, c);
  return out;
}

/// The operators that a shipped rule file lists.
std::vector<std::string> operators_of(const std::string& file) {
  const RuleSet rules = RuleSet::load({data_folder() / "opspecs" / "rules"});
  std::vector<std::string> out;
  for (const auto& [op, rule] : rules.all())
    if (rule.source.find(file) != std::string::npos) out.push_back(op);
  CHECK(out.size() > 10);
  return out;
}

/// The call, and every variation of it.
std::vector<PlannedCase> with_families(const Session& session, const std::string& call) {
  OpSpec spec;
  spec.calls.push_back({.call = parse_case(call, shipped_schemas()).calls.at(0)});
  spec.op = spec.calls[0].call.op;
  spec.schema = shipped_schemas().text(spec.op);
  PlanOptions options;
  options.seed = sample_seed();
  return session.plan({spec}, options).cases;
}

/// Honest devices, and what they said of the cases run on them.
class Sweep {
 public:
  Session& first() { return devices_[0]; }

  /// Shows a case that neither passes nor is invalid. full: on all devices; ci: on one of them.
  void run(const PlannedCase& c) {
    const std::size_t drawn = draw_() % k_orders.size();
    for (std::size_t i = 0; i < k_orders.size(); ++i)
      if (full_tier() || i == drawn) run_on(devices_[i], c, k_orders[i]);
  }

  /// Likewise, but in the ci tier only one case of `n`.
  void sample(const PlannedCase& c, unsigned n) {
    if (full_tier() || draw_() % n == 0) run(c);
  }

  int passed() const { return passed_; }
  int invalid() const { return invalid_; }

 private:
  void run_on(Session& session, const PlannedCase& c, const char* order) {
    const CaseResult result = session.run(c);
    passed_ += result.verdict.status == Status::pass;
    invalid_ += result.verdict.status == Status::invalid;
    if (result.verdict.status == Status::pass || result.verdict.status == Status::invalid ||
        lacks_half(c.c.calls.at(0).op, result))
      return;
    INFO("order " << order << " OPREPLAY_SEED=" << sample_seed());
    FAIL_CHECK(failure_text(result));
  }

  HonestDevices devices_;
  std::mt19937_64 draw_{sample_seed()};
  int passed_ = 0, invalid_ = 0;
};

}  // namespace

TEST_CASE("every elementwise rule passes on an honest device in every floating dtype") {
  Sweep devices;
  for (const std::string& op : operators_of("elementwise.yaml"))
    for (const DType dtype : k_dtypes) {
      const std::string call = op + "(" + with_dtype(arguments(op), dtype) + ")";
      for (const PlannedCase& c : with_families(devices.first(), call))
        c.workload ? devices.run(c) : devices.sample(c, 6);
    }
  CHECK(devices.passed() > 2000);
  CHECK(devices.invalid() * 20 < devices.passed());
}

// What torch's CPU does with such an operand depends on the kernel: add and pow round it to T, mul
// and div take it in f32 (measured in Python, torch 2.13).
TEST_CASE("an operand without dims may be of any floating dtype, or a number") {
  Sweep devices;
  for (const char* file : {"elementwise.yaml", "comparison.yaml"})
    for (const std::string& op : operators_of(file)) {
      const std::string pattern = arguments(op);
      if (pattern.find("out=") != std::string::npos) continue;
      std::vector<std::size_t> operands;
      for (std::size_t at = pattern.find("T["); at != std::string::npos;
           at = pattern.find("T[", at + 1))
        operands.push_back(at);
      if (operands.size() < 2) continue;
      for (const std::size_t at : operands)
        for (const DType dtype : k_dtypes) {
          const std::size_t end = pattern.find(']', at) + 1;
          const auto with = [&](const std::string& operand) {
            return devices.first().parse(op + "(" + with_dtype(pattern.substr(0, at), dtype) +
                                         operand + with_dtype(pattern.substr(end), dtype) + ")");
          };
          for (const DType other : k_dtypes)
            devices.sample(with(std::string(name(other)) + "[]"), 2);
          // The slopes of prelu are a parameter, and some kernels want a tensor first.
          if (at > 0 && op.find("prelu") == std::string::npos) devices.run(with("2.345"));
        }
    }
  CHECK(devices.passed() > 300);
}

TEST_CASE("normalisations and sums in half pass on an honest device") {
  Sweep devices;
  for (const char* call : {
           "aten.batch_norm(T[16,4,8], T[4], T[4], T[4], T[4], true, 0.1, 1e-05, false)",
           "aten.batch_norm(T[16,4,8], f32[4], f32[4], f32[4], f32[4], true, 0.1, 1e-05, false)",
           "aten.batch_norm(T[16,4,8], T[4], T[4], T[4], T[4], false, 0.1, 1e-05, false)",
           "aten.native_batch_norm(T[16,4,8], T[4], T[4], T[4], T[4], true, 0.1, 1e-05)",
           "aten.native_batch_norm(T[16,4,8], f32[4], f32[4], f32[4], f32[4], true, 0.1, 1e-05)",
           "aten.instance_norm(T[4,6,32], T[6], T[6], null, null, true, 0.1, 1e-05, false)",
           "aten.group_norm(T[4,6,32], 3, T[6], T[6])",
           "aten.layer_norm(T[16,64], [64], T[64], T[64])",
           "aten.rms_norm(T[16,64], [64], T[64])",
           "aten.softmax.int(T[8,100], -1)",
           "aten.log_softmax.int(T[8,100], -1)",
           "aten.sum.dim_IntList(T[8,300], [1])",
           "aten.mean.dim(T[8,300], [1])",
           "aten.cumsum(T[8,300], 1)",
           "aten.mm(T[16,200], T[200,16])",
           "aten.addmm(T[16], T[16,64], T[64,16], beta=0.3, alpha=0.7)",
           "aten.avg_pool2d(T[2,3,8,8], [3,3])",
           "aten.adaptive_avg_pool2d(T[2,3,8,8], [2,2])",
           "aten.scaled_dot_product_attention(T[2,2,16,8], T[2,2,16,8], T[2,2,16,8])",
       })
    for (const DType dtype : k_dtypes)
      for (const PlannedCase& c : with_families(devices.first(), with_dtype(call, dtype)))
        c.workload ? devices.run(c) : devices.sample(c, 3);
  CHECK(devices.passed() > 300);
}
