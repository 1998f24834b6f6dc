#pragma once
/// Deadlines of the supervisor's poll loops.

#include <algorithm>
#include <chrono>

namespace opreplay {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

/// The point `seconds` from now; centuries are cut to years so that nothing overflows.
inline Deadline deadline_in(double seconds) {
  constexpr double k_years = 1e8;
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(std::clamp(seconds, 0.0, k_years)));
}

/// Longest time between two looks at the caller's `interrupted`.
inline constexpr std::chrono::milliseconds k_interrupt_interval{100};

/// Argument of poll(2): until the deadline, at most one interrupt interval.
inline int poll_timeout(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(
      std::clamp(left, std::chrono::milliseconds{0}, k_interrupt_interval).count());
}

}  // namespace opreplay
