#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <vector>

#include "opreplay/capture.h"
#include "opreplay/session.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tier.h"

// No false alarm: every call of real models, unvaried and with all families, on honest devices that
// accumulate in four different orders. Models: the small ones exported by the build, and llama and
// timm_resnet of the corpus where OPREPLAY_CORPUS names it.

using namespace opreplay;
using namespace opreplay::testing;

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> models() {
  std::vector<fs::path> out = {fs::path(OPREPLAY_MODELS_DIR) / "tiny_llama.pt2",
                               fs::path(OPREPLAY_MODELS_DIR) / "tiny_convnet.pt2"};
  const char* corpus = std::getenv("OPREPLAY_CORPUS");
  if (corpus && *corpus) {
    for (const char* name : {"llama.pt2", "timm_resnet.pt2"})
      out.push_back(fs::path(corpus) / name);
  } else {
    WARN("OPREPLAY_CORPUS is not set: the corpus models are not tried");
  }
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

/// Runs one case; shows it unless it passes, is invalid, or is an edge case left pending.
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
  for (const fs::path& model : models()) {
    const CaptureResult captured = capture_file(model);
    for (std::size_t order = 0; order < k_orders.size(); ++order) {
      INFO(model.filename() << " order " << k_orders[order]);
      PlanOptions options;
      options.vary = {"none"};
      for (const PlannedCase& c : devices[order].plan(captured.specs, options).cases)
        CHECK(run_honest(devices[order], c) == Status::pass);
    }
  }
}

// ci: every case once, in an order drawn by the seed. full: in all of them, with three fills.
TEST_CASE("no variation of a real model's calls is a false alarm on an honest device") {
  HonestDevices devices;
  const std::uint64_t first_seed = sample_seed();
  for (const fs::path& model : models()) {
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
