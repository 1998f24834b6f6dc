#pragma once
/// Simulated devices without a fault (or with those a test plants), one per accumulation order.

#include <array>
#include <string>
#include <vector>

#include "opreplay/session.h"
#include "tests/support/temporary_folder.h"

namespace opreplay::testing {

/// The four orders of the acceptance lines.
inline constexpr std::array k_orders = {"cpu", "reversed", "pairwise", "split_k:8"};

/// A device file. `faults` is its YAML list.
inline std::string device_file(const std::string& order, const std::string& faults = "[]") {
  return "simdevice: 1\ndeclare: {accumulate: fp32, order: \"" + order +
         "\", intermediates: fp32}\nfaults: " + faults + "\n";
}

class HonestDevices {
 public:
  HonestDevices() {
    for (const char* order : k_orders) {
      const auto file = folder_.write(std::string(order) + ".yaml", device_file(order));
      sessions_.emplace_back(SessionOptions{.device = "sim:" + file.string()});
    }
  }
  /// The device of k_orders[order].
  Session& operator[](std::size_t order) { return sessions_[order]; }

 private:
  TemporaryFolder folder_;
  std::vector<Session> sessions_;
};

}  // namespace opreplay::testing
