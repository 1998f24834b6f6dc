#pragma once
/// What supervisor and worker say to each other: length-prefixed frames over a socket pair, and one
/// shared page, the journal, in which the worker notes each stage before it starts it.
/// The launcher's side of it: worker_abi.h. Who drives it: lib/isolate/supervisor.h.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "opreplay/outcome.h"

namespace opreplay {

/// Kinds of request; the answer has the same kind.
enum class MessageKind : std::uint32_t {
  replay = 1,     ///< ReplayRequest -> Outcome
  identity = 2,   ///< nothing -> "key: value" lines about torch and the device
  schemas = 3,    ///< nothing -> one schema a line
  run_graph = 4,  ///< graph of a model with its weights' places -> outputs and value statistics
};

struct Message {
  MessageKind kind = MessageKind::replay;
  std::vector<std::byte> payload;
};

/// The shared page. Lock-free; survives the worker's death.
struct JournalPage {
  std::atomic<std::uint64_t> sequence;  ///< number of the request being worked on; 0 = none yet
  std::atomic<std::uint32_t> stage;     ///< Stage
};

/// The worker's handle on the page.
class Journal {
 public:
  explicit Journal(JournalPage* page) : page_(page) {}
  void begin(std::uint64_t sequence) { page_->sequence.store(sequence); }
  void enter(Stage stage) { page_->stage.store(static_cast<std::uint32_t>(stage)); }

 private:
  JournalPage* page_;
};

/// Implemented by the worker library (lib/torch) and by test workers.
class WorkerHandler {
 public:
  virtual ~WorkerHandler() = default;
  /// Answers one request. An exception that leaves it ends the worker with exit code 70.
  virtual std::vector<std::byte> handle(MessageKind kind, std::span<const std::byte> payload,
                                        Journal& journal) = 0;
};

/// Serves requests from `fd` until the other side closes it.
void serve(int fd, Journal journal, WorkerHandler& handler);

/// Writes one frame whole, or throws Error{internal} (EPIPE included; SIGPIPE never raised).
void write_message(int fd, MessageKind kind, std::span<const std::byte> payload);
/// Reads one frame; false at a clean end. Throws Error{internal} on a torn frame or one larger than
/// `max_bytes`.
bool read_message(int fd, Message& message, std::size_t max_bytes = std::size_t{1} << 31);

}  // namespace opreplay
