#pragma once
/// What the device remembers within one process: how often which operator was called, with what,
/// what is pending. A forked child starts anew, whatever its parent called.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "harness/simdevice/fault.h"

namespace opreplay::sim {

/// Hashes of what earlier calls of one operator looked like.
struct Signature {
  std::uint64_t shape = 0, dtype = 0, scalar = 0;
};

struct OpPast {
  std::int64_t calls = 0;  ///< outermost, not made by autograd
  std::set<std::uint64_t> shapes, dtypes, scalars;
};

class ProcessState {
 public:
  /// Notes a call and returns what came before it: how many calls including this one, and the
  /// operator called before. A call in a backward pass is not counted.
  struct Entry {
    std::int64_t number;
    std::string previous;
    std::uint64_t serial;  ///< of all calls of the process
    OpPast past;
  };
  Entry enter(const std::string& op, const Signature& signature, bool backward, bool bookkeeping);

  /// Seeds everything that is random about this process: OPREPLAY_SIM_NONCE.
  std::uint64_t nonce() const { return nonce_; }

  /// Raises what poison left; the process's device never works again.
  void require_healthy() const;
  void poison(const std::string& by);
  /// An error that shows at the next synchronise only.
  void leave_behind(const Throw& error);
  std::optional<Throw> take_pending();

  /// The result `fault` saw last, and the memory of this one. Undefined the first time.
  at::Tensor exchange_result(const std::string& key, const at::Tensor& result);
  void leak(std::int64_t bytes);

 private:
  friend ProcessState& process_state();
  ProcessState();

  mutable std::mutex mutex_;
  std::uint64_t nonce_ = 0, serial_ = 0;
  std::map<std::string, OpPast> past_;
  std::string previous_, poisoned_by_;
  std::optional<Throw> pending_;
  std::map<std::string, at::Tensor> results_;
};

ProcessState& process_state();

/// This thread runs a backward pass.
bool in_backward();

/// Throws the error a fault file describes.
[[noreturn]] void raise(const Throw& error);

/// A fault file that the device cannot serve leaves it unusable; the first thing anyone does with
/// the device raises `text`.
void refuse_to_work(const std::string& text);
/// That text, or null.
const char* refusal();
void require_loaded();

/// A hash of both, by SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t mix(std::uint64_t seed, std::uint64_t value);

}  // namespace opreplay::sim
