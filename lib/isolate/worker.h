#pragma once
/// One worker process as its supervisor sees it: socket, journal, output, and what the launcher
/// reported of it.

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "lib/base/fd.h"
#include "lib/base/worker_protocol.h"
#include "lib/isolate/output_tail.h"

namespace opreplay {

/// The far ends of a new worker's channels, in the order the launcher expects: socket, journal,
/// output. Closed here once they are sent.
using FarEnds = std::array<Fd, 3>;

class Worker {
 public:
  /// Makes the channels; the far ends go to the launcher. Throws Error{internal} if the system
  /// refuses.
  Worker(std::uint64_t number, FarEnds& far);

  std::uint64_t number() const { return number_; }
  int socket_fd() const { return socket_.get(); }
  OutputTail& output() { return output_; }
  const OutputTail& output() const { return output_; }

  /// Reports of the launcher.
  void set_process(pid_t process) { process_ = process; }
  pid_t process() const { return process_; }  ///< 0 = not reported yet
  void set_status(int status) { status_ = status; }
  std::optional<int> status() const { return status_; }  ///< wait status once it has ended
  void set_failure(const std::string& text) { failure_ = text; }
  const std::string& failure() const { return failure_; }  ///< why it cannot serve
  bool gone() const { return status_.has_value() || !failure_.empty(); }
  bool ready() const { return ready_; }  ///< has said hello

  /// Takes the hello, if it is there.
  void read_hello();

  /// Notes a new request and forgets earlier output.
  void begin_request();
  std::uint64_t requests() const { return requests_; }
  /// The worker has taken up the latest request.
  bool has_begun() const { return journal_.page()->sequence.load() >= requests_; }
  /// It left, or is about to, by a failure of its own.
  bool failed_itself() const { return journal_.page()->failed.load() != 0; }
  /// Stage of the latest request.
  Stage stage() const;

  /// Reads on at the answer; a worker that sends what it must not is marked as failed.
  FrameReader::State read_answer();
  Message take_answer() { return reader_.take(); }
  /// Sends on; a worker that no longer reads is left to end.
  void write_request(FrameWriter& writer);
  bool writing() const { return writing_; }

 private:
  std::uint64_t number_;
  Fd socket_;  // reset once the other side has closed
  OutputTail output_;
  JournalMapping journal_;
  FrameReader reader_;
  pid_t process_ = 0;
  std::optional<int> status_;
  std::string failure_;
  bool ready_ = false, writing_ = false;
  std::uint64_t requests_ = 0;
};

}  // namespace opreplay
