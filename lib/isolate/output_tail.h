#pragma once
/// What a child process printed last: the read end of its output pipe and the tail of its text.

#include <cstddef>
#include <string>

#include "lib/base/fd.h"

namespace opreplay {

/// Bytes of output kept for a reader; what stood before is dropped.
inline constexpr std::size_t k_tail_bytes = 4096;

class OutputTail {
 public:
  OutputTail() = default;
  /// Takes the read end and makes it non-blocking.
  explicit OutputTail(Fd pipe);

  /// For poll; -1 once the writers have gone.
  int fd() const { return pipe_.get(); }
  /// Reads what is there, up to a limit, so that a process that never stops printing cannot hold
  /// its reader. Never blocks.
  void drain();
  /// Forgets what was read.
  void clear() { recent_.clear(); }
  /// The last lines as valid UTF-8, at most k_tail_bytes; other bytes become '?'.
  std::string text() const;

 private:
  Fd pipe_;
  std::string recent_;
};

}  // namespace opreplay
