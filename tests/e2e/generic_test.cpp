#include <array>
#include <catch2/catch.hpp>
#include <string>

#include "opreplay/session.h"
#include "tests/support/honest_devices.h"

// The model `generic` on composite operators: honest devices that accumulate in four orders pass in
// every dtype, and planted faults are found.

using namespace opreplay;
using namespace opreplay::testing;

namespace {

constexpr std::array k_dtypes = {"f32", "f16", "bf16"};

/// Calls with $ for the dtype.
constexpr std::array k_calls = {
    "aten.gru.input($[7,2,8], $[1,2,16], [$[48,8], $[48,16], $[48], $[48]], true, 1, 0.0, false, "
    "false, false)",
    "aten.gru_cell($[3,8], $[3,16], $[48,8], $[48,16], $[48], $[48])",
    "aten.lstm.input($[7,2,8], [$[1,2,16], $[1,2,16]], [$[64,8], $[64,16], $[64], $[64]], true, 1, "
    "0.0, false, false, false)",
    "aten.lstm_cell($[3,8], [$[3,16], $[3,16]], $[64,8], $[64,16], $[64], $[64])",
    "aten.rnn_tanh.input($[7,2,8], $[1,2,16], [$[16,8], $[16,16], $[16], $[16]], true, 1, 0.0, "
    "false, false, false)",
    "aten.cosine_similarity($[8,32], $[8,32])",
    "aten.linalg_matrix_norm.str_ord($[8,32])",
    "aten.dist($[8,32], $[8,32])",
    "aten.renorm($[8,32], 2.0, 0, 1.0)",
};

std::string in_dtype(std::string text, const std::string& dtype) {
  for (std::size_t at = 0; (at = text.find('$', at)) != std::string::npos;)
    text.replace(at, 1, dtype);
  return text;
}

CaseResult run(Session& session, const std::string& text) {
  return session.run(session.parse(text));
}

}  // namespace

TEST_CASE("composite operators pass on honest devices in four accumulation orders") {
  HonestDevices devices;
  for (std::size_t order = 0; order < k_orders.size(); ++order) {
    const auto check = [&](const std::string& text) {
      INFO(k_orders[order] << ": " << text);
      const CaseResult result = run(devices[order], text);
      INFO(to_string(result.verdict.reason) << ": " << result.verdict.detail);
      CHECK(result.verdict.status == Status::pass);
      REQUIRE_FALSE(result.outcome.outputs.empty());
      for (const OutputComparison& output : result.outcome.outputs) {
        CHECK(output.compared);
        CHECK(output.model == "generic");
      }
    };
    for (const char* dtype : k_dtypes)
      for (const char* call : k_calls) check(in_dtype(call, dtype));
  }
}

TEST_CASE("faults of composite operators are found by the general model") {
  struct Fault {
    const char* op;
    const char* text;
    const char* call;
  };
  // By operator that the device runs: recurrent ones are a product and a fused cell there.
  const Fault faults[] = {
      {"aten._thnn_fused_gru_cell", "scale: 1.01", k_calls[0]},
      {"aten._thnn_fused_gru_cell", "element: {index: 3, factor: 1.01}", k_calls[0]},
      {"aten._thnn_fused_gru_cell", "zeros: true", k_calls[0]},
      {"aten.mm", "round: {mantissa: 10}", k_calls[0]},
      {"aten._thnn_fused_gru_cell", "element: {index: 3, factor: 1.01}", k_calls[1]},
      {"aten.mm", "round: {mantissa: 10}", k_calls[1]},
      {"aten._thnn_fused_lstm_cell", "scale: 1.01", k_calls[2]},
      {"aten.mm", "round: {mantissa: 10}", k_calls[2]},
      {"aten.linalg_vector_norm", "scale: 1.01", k_calls[6]},
      {"aten.linalg_vector_norm", "zeros: true", k_calls[6]},
      {"aten.linalg_vector_norm", "round: {mantissa: 10}", k_calls[6]},
      {"aten.sum*", "element: {index: 5, factor: 1.01}", k_calls[5]},
      {"aten.sum*", "round: {mantissa: 10}", k_calls[5]},
      {"aten.renorm", "element: {index: 5, factor: 1.01}", k_calls[8]},
  };
  TemporaryFolder folder;
  int n = 0;
  for (const Fault& fault : faults) {
    const auto file =
        folder.write(std::to_string(n++) + ".yaml",
                     device_file("cpu", std::string("[{name: planted, op: \"") + fault.op +
                                            "\", do: {" + fault.text + "}}]"));
    Session session(SessionOptions{.device = "sim:" + file.string()});
    const std::string text = in_dtype(fault.call, "f32");
    INFO(fault.op << " " << fault.text << ": " << text);
    const CaseResult result = run(session, text);
    INFO(to_string(result.verdict.status) << " " << to_string(result.verdict.reason));
    CHECK((result.verdict.reason == Reason::wrong_value ||
           result.verdict.reason == Reason::precision_downgrade));
  }
}
