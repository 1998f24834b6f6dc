#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <vector>

#include "opreplay/capture.h"
#include "opreplay/session.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tier.h"

// No false alarm on honest devices that accumulate in four different orders: every call of every
// model unvaried, and those of a transformer and a convolutional net with all families. Models: the
// small ones exported by the build, and those of the corpus that OPREPLAY_CORPUS names.

using namespace opreplay;
using namespace opreplay::testing;

namespace {

namespace fs = std::filesystem;

/// The small models that the build exports.
std::vector<fs::path> own_models() {
  return {fs::path(OPREPLAY_MODELS_DIR) / "tiny_llama.pt2",
          fs::path(OPREPLAY_MODELS_DIR) / "tiny_convnet.pt2"};
}

/// Those, and every model of the corpus that `chosen` accepts.
std::vector<fs::path> models(const std::function<bool(const std::string& name)>& chosen) {
  std::vector<fs::path> out = own_models();
  const char* corpus = std::getenv("OPREPLAY_CORPUS");
  if (!corpus || !*corpus) {
    WARN("OPREPLAY_CORPUS is not set: the corpus models are not tried");
    return out;
  }
  for (const auto& entry : fs::directory_iterator(corpus))
    if (entry.path().extension() == ".pt2" && chosen(entry.path().stem().string()))
      out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

std::string device_file(const std::string& order) {
  return "simdevice: 1\ndeclare: {accumulate: fp32, order: \"" + order +
         "\", intermediates: fp32}\nfaults: []\n";
}

constexpr std::array k_orders = {"cpu", "reversed", "pairwise", "split_k:8"};

/// One honest device per accumulation order.
class HonestDevices {
 public:
  HonestDevices() {
    for (const char* order : k_orders) {
      const auto file = folder_.write(std::string(order) + ".yaml", device_file(order));
      sessions_.emplace_back(SessionOptions{.device = "sim:" + file.string()});
    }
  }
  Session& operator[](std::size_t order) { return sessions_[order]; }

 private:
  TemporaryFolder folder_;
  std::vector<Session> sessions_;
};

/// Runs one varied case; shows it if it is a false alarm, or a workload case that does not pass.
Status run_honest(Session& session, const PlannedCase& c) {
  const CaseResult result = session.run(c);
  const Status status = result.verdict.status;
  if (status == Status::blocked || status == Status::substitute ||
      (status == Status::pending && c.workload))
    FAIL_CHECK(failure_text(result));
  return status;
}

}  // namespace

TEST_CASE("the calls of real models pass on an honest device in four accumulation orders") {
  HonestDevices devices;
  std::int64_t cases = 0, pending = 0;
  for (const fs::path& model : models([](const std::string&) { return true; })) {
    const CaptureResult captured = capture_file(model);
    for (std::size_t order = 0; order < k_orders.size(); ++order) {
      INFO(model.filename() << " order " << k_orders[order]);
      PlanOptions options;
      options.vary = {"none"};
      for (const PlannedCase& c : devices[order].plan(captured.specs, options).cases) {
        const CaseResult result = devices[order].run(c);
        ++cases;
        if (result.verdict.status == Status::pending) {
          ++pending;
          WARN(failure_text(result));
        } else if (result.verdict.status != Status::pass) {
          FAIL_CHECK(failure_text(result));
        }
      }
    }
  }
  // Each is shown with its cause.
  INFO(pending << " of " << cases << " cases are pending");
  CHECK(200 * pending <= cases);
}

// ci: every case once, in an order drawn by the seed. full: in all of them, with three fills.
TEST_CASE("no variation of a real model's calls is a false alarm on an honest device") {
  HonestDevices devices;
  const std::uint64_t first_seed = sample_seed();
  const auto two = [](const std::string& name) { return name == "llama" || name == "timm_resnet"; };
  for (const fs::path& model : models(two)) {
    const CaptureResult captured = capture_file(model);
    for (std::uint64_t seed = first_seed; seed < first_seed + (full_tier() ? 3 : 1); ++seed) {
      PlanOptions options;
      options.seed = seed;
      std::mt19937_64 draw(seed);
      int passed = 0;
      for (const PlannedCase& c : devices[0].plan(captured.specs, options).cases) {
        const std::size_t drawn = draw() % k_orders.size();
        for (std::size_t order = 0; order < k_orders.size(); ++order) {
          if (!full_tier() && order != drawn) continue;
          INFO(model.filename() << " order " << k_orders[order] << " OPREPLAY_SEED=" << seed);
          passed += run_honest(devices[order], c) == Status::pass;
        }
      }
      CHECK(passed > 100);
    }
  }
}
