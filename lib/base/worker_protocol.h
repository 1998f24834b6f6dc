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
  hello = 0,      ///< worker -> supervisor, once, unasked: empty, or why it cannot serve
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
  std::atomic<std::uint32_t> failed;    ///< 1 = the worker leaves by a failure of its own
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

/// Owns a mapping of the shared page; both sides use it.
class JournalMapping {
 public:
  /// Maps the page of `fd`. Throws Error{internal} if that fails.
  explicit JournalMapping(int fd);
  JournalMapping(JournalMapping&& other) noexcept;
  JournalMapping& operator=(JournalMapping&& other) noexcept;
  ~JournalMapping();
  JournalPage* page() const { return page_; }

 private:
  JournalPage* page_;
};

/// Bytes of the journal's file.
inline constexpr std::size_t k_journal_bytes = 4096;

/// Implemented by the worker library (lib/torch) and by test workers.
class WorkerHandler {
 public:
  virtual ~WorkerHandler() = default;
  /// Answers one request. An exception that leaves it ends the worker, noted in the journal: a
  /// device that calls exit is told apart.
  virtual std::vector<std::byte> handle(MessageKind kind, std::span<const std::byte> payload,
                                        Journal& journal) = 0;
};

/// Serves requests from `fd` until the other side closes it. Before each request the journal gets
/// its number (from 1) and Stage::queued.
void serve(int fd, Journal journal, WorkerHandler& handler);

/// The whole of opreplay_worker_serve (worker_abi.h): maps the journal and serves. Returns the
/// process's exit code: 0, or 70 after an exception, which is noted in the journal and whose text
/// goes to standard error.
int serve_process(int socket_fd, int journal_fd, WorkerHandler& handler) noexcept;

inline constexpr std::size_t k_max_frame_bytes = std::size_t{1} << 31;

/// Writes one frame whole, or throws Error{internal} (EPIPE included; SIGPIPE never raised).
void write_message(int fd, MessageKind kind, std::span<const std::byte> payload);
/// Reads one frame; false at a clean end. Throws Error{internal} on a torn frame or one larger than
/// `max_bytes`.
bool read_message(int fd, Message& message, std::size_t max_bytes = k_max_frame_bytes);

/// What stands before each payload. Both sides run on one machine: native byte order.
struct FrameHeader {
  std::uint32_t magic;
  std::uint32_t kind;
  std::uint64_t length;
};

enum class Waiting : std::uint8_t { block, never };

/// Reads one frame piece by piece, for a side that polls.
class FrameReader {
 public:
  explicit FrameReader(std::size_t max_bytes = k_max_frame_bytes) : max_bytes_(max_bytes) {}

  /// `closed`: the other side ended between frames; `torn`: inside one.
  enum class State : std::uint8_t { incomplete, complete, closed, torn };
  /// Takes what the socket holds, to the end of the frame at most. Throws Error{internal} on a
  /// malformed frame and on one larger than allowed.
  State read(int fd, Waiting waiting);
  /// The frame, once complete; the reader then awaits the next one.
  Message take();

 private:
  void take_header();

  std::size_t max_bytes_;
  FrameHeader header_{};
  std::size_t header_got_ = 0, payload_got_ = 0;
  std::vector<std::byte> payload_;
};

/// Writes one frame piece by piece. The payload must outlive the writer.
class FrameWriter {
 public:
  FrameWriter(MessageKind kind, std::span<const std::byte> payload);
  /// Writes what the socket takes; true when all is written. Throws Error{internal} on EPIPE and
  /// other errors.
  bool write(int fd, Waiting waiting);

 private:
  FrameHeader header_;
  std::span<const std::byte> payload_;
  std::size_t sent_ = 0;  ///< header included
};

}  // namespace opreplay
