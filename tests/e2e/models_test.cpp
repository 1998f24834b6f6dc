#include <array>
#include <catch2/catch.hpp>
#include <fstream>
#include <set>

#include "opreplay/session.h"
#include "tests/support/honest_devices.h"

// Calls of every error model (tests/data/oracle/cases.txt) on the simulated device: honest orders
// of accumulation pass, planted defects do not.

using namespace opreplay;
using namespace opreplay::testing;

namespace {

struct Calls {
  std::vector<std::string> checked;  ///< a wrong number in them shows
  std::vector<std::string> free;     ///< any number is right
};

Calls read_calls() {
  std::ifstream file(OPREPLAY_TEST_DATA "/oracle/cases.txt");
  REQUIRE(file);
  Calls calls;
  std::string line;
  bool free = false;
  while (std::getline(file, line)) {
    free = free || line.starts_with("# any number");
    if (line.empty() || line[0] == '#') continue;
    (free ? calls.free : calls.checked).push_back(line);
  }
  REQUIRE(calls.checked.size() > 100);
  REQUIRE(!calls.free.empty());
  return calls;
}

/// A device on which every op of `calls` has the defect.
std::string faulty(const std::vector<std::string>& calls, const std::string& defect) {
  std::set<std::string> ops;
  for (const std::string& call : calls) ops.insert('"' + call.substr(0, call.find('(')) + '"');
  std::string list;
  for (const std::string& op : ops) list += (list.empty() ? "" : ", ") + op;
  return "simdevice: 1\nfaults:\n  - name: planted\n    op: [" + list + "]\n    do: {" + defect +
         "}\n";
}

}  // namespace

TEST_CASE("calls of every error model pass on an honest device in four accumulation orders") {
  HonestDevices devices;
  const Calls calls = read_calls();
  for (std::size_t order = 0; order < k_orders.size(); ++order)
    for (const auto* list : {&calls.checked, &calls.free})
      for (const std::string& call : *list) {
        const CaseResult result = devices[order].run(devices[order].parse(call));
        INFO(k_orders[order] << ": " << failure_text(result));
        CHECK(result.verdict.status == Status::pass);
      }
}

TEST_CASE("one wrong number in a call of any error model is blocked") {
  const TemporaryFolder folder;
  const Calls calls = read_calls();
  // 77 lies outside every support and far from every value of these calls.
  const auto file =
      folder.write("faulty.yaml", faulty(calls.checked, "element: {index: 0, value: 77}"));
  Session session({.device = "sim:" + file.string()});
  for (const std::string& call : calls.checked) {
    const CaseResult result = session.run(session.parse(call));
    INFO(failure_text(result));
    CHECK(result.verdict.status == Status::blocked);
  }
}

TEST_CASE("a gain of 1 % and zeros are wrong values") {
  const TemporaryFolder folder;
  const std::array calls = {"aten.var.correction(f32[16,300], [1])",
                            "aten.std(f32[16,300])",
                            "aten.linalg_vector_norm(f32[16,300], 2, [1])",
                            "aten.prod.dim_int(f32[16,30], 1)",
                            "aten.cumprod(f32[16,30], 1)",
                            "aten.logsumexp(f32[16,300], [1])",
                            "aten.mse_loss(f32[16,30], f32[16,30])",
                            "aten.cross_entropy_loss(f32[16,30], i64[16])",
                            "aten.kl_div(f32[16,30], f32[16,30], 0)",
                            "aten.upsample_bilinear2d.vec(f32[2,3,8,9], [20,25], false, null)",
                            "aten.quantile.scalar(f32[5,80], 0.3, 1)",
                            "aten.mul.Tensor(c64[50,8], c64[50,8])",
                            "aten.fft_fft(c64[5,64])",
                            "aten.fft_rfft(f32[5,64])",
                            "aten.fft_irfft(c64[5,33])",
                            "aten.dropout(f32[2000], 0.3, true)",
                            "aten.rand([2000])",
                            "aten.randperm(2000)",
                            "aten.topk(f32[5,80], 4)",
                            "aten._weight_norm(f32[8,4,3], f32[8,1,1])"};
  const std::vector<std::string> list(calls.begin(), calls.end());
  for (const char* defect : {"scale: 1.01", "zeros: true"}) {
    const auto file = folder.write("faulty.yaml", faulty(list, defect));
    Session session({.device = "sim:" + file.string()});
    for (const std::string& call : list) {
      const CaseResult result = session.run(session.parse(call));
      INFO(defect << ": " << failure_text(result));
      CHECK(result.verdict.status == Status::blocked);
      CHECK(result.verdict.reason == Reason::wrong_value);
    }
  }
}
