#pragma once
/// What supervisor and launcher say to each other: one message per packet of a SOCK_SEQPACKET
/// pair, descriptors beside it. Narrative: docs/isolation.md; the other half: worker_protocol.h.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fd.h"
#include "lib/base/worker_protocol.h"

namespace opreplay {

/// Where the launcher finds what its supervisor gives it. The configuration is a file of lines
/// "key=value": worker=PATH and fork=0|1 for the launcher itself, an empty line, then what
/// opreplay_worker_load is given (worker_abi.h).
inline constexpr int k_control_fd = 3;
inline constexpr int k_config_fd = 4;
/// Where a worker process that is executed anew finds its ends; its configuration as above.
inline constexpr int k_worker_socket_fd = 3;
inline constexpr int k_worker_journal_fd = 5;

/// First argument of a worker process that is executed anew.
inline constexpr const char* k_worker_flag = "--worker";
/// Set in each worker process before it serves: a number of its own.
inline constexpr const char* k_nonce_variable = "OPREPLAY_SIM_NONCE";

enum class ControlKind : std::uint32_t {
  // supervisor -> launcher
  spawn,   ///< worker, value = nonce; descriptors: worker's socket, journal, output
  signal,  ///< worker, value = signal number: sent to the worker's whole group
  // launcher -> supervisor
  ready,      ///< the libraries are loaded
  failed,     ///< text = why they are not, value = exit code for it; the launcher ends
  started,    ///< worker, value = process id
  unstarted,  ///< worker, text = why it could not be started
  ended,      ///< worker, value = wait status; its group is killed already
};

struct ControlMessage {
  ControlKind kind = ControlKind::ready;
  std::uint64_t worker = 0;  ///< the supervisor's number of the worker; never used twice
  std::int64_t value = 0;
  std::string text;  ///< cut to k_control_text_bytes when sent
};

inline constexpr std::size_t k_control_text_bytes = 8192;

/// Sends one message; false if the other side is gone. Throws Error{internal} on other errors.
bool send_control(int fd, const ControlMessage& message, std::span<const int> descriptors = {});

enum class Received : std::uint8_t { message, nothing, closed };
/// Takes one message and its descriptors (close-on-exec). `nothing` only with Waiting::never.
/// Throws Error{internal} on a malformed message and on system errors.
Received receive_control(int fd, Waiting waiting, ControlMessage& message,
                         std::vector<Fd>& descriptors);

/// Value of the first line "key=..." of a configuration; empty if there is none.
std::string config_value(std::string_view config, std::string_view key);
/// What follows the first empty line; empty if there is none.
std::string config_of_worker(std::string_view config);

}  // namespace opreplay
