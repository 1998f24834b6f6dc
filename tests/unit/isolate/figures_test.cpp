// Figures of docs/isolation.md. Hidden: run `isolate_test [.figures]` in a release build by hand.

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <iostream>
#include <vector>

#include "lib/isolate/clock.h"
#include "tests/unit/isolate/support.h"

using namespace opreplay;
using namespace opreplay::test;

namespace {

template <class Action>
double milliseconds(Action action) {
  const auto start = Clock::now();
  action();
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

}  // namespace

TEST_CASE("figures of the isolation layer", "[.figures]") {
  SupervisorOptions options = fake_options();
  for (const bool forked : {true, false}) {
    Profile profile = fake_profile();
    profile.fork = forked;
    std::unique_ptr<Supervisor> supervisor;
    std::cout << (forked ? "forked" : "executed anew")
              << "\n  start to first answer ms: " << milliseconds([&] {
                   supervisor = std::make_unique<Supervisor>(profile, options);
                   supervisor->run(wish("test.echo"));
                 });

    std::vector<double> crashes, next;
    for (int i = 0; i < 100; ++i) {
      crashes.push_back(milliseconds(
          [&] { CHECK(supervisor->run(wish("test.crash", SIGSEGV)).ending == Ending::crashed); }));
      next.push_back(milliseconds(
          [&] { CHECK(supervisor->run(wish("test.echo")).ending == Ending::answered); }));
    }
    std::cout << "\n  case that crashes, median ms: " << median(crashes)
              << "\n  next case, median ms: " << median(next);

    constexpr int k_echoes = 20000;
    const double echo_ms = milliseconds([&] {
      for (int i = 0; i < k_echoes; ++i) supervisor->run(wish("test.echo"));
    });
    std::cout << "\n  round trips per second: " << k_echoes / echo_ms * 1000;

    const std::vector<std::byte> payload(std::size_t{64} << 20);
    supervisor->exchange(MessageKind::run_graph, payload);
    const double large_ms =
        milliseconds([&] { supervisor->exchange(MessageKind::run_graph, payload); });
    std::cout << "\n  64 MiB there and back ms: " << large_ms
              << "\n  end ms: " << milliseconds([&] { supervisor.reset(); }) << "\n";
  }
}
