#pragma once
/// The C entry points of a worker library (libopreplay_worker.so). The launcher dlopens it, loads
/// the device once, then forks; a Python launcher calls the same two through ctypes.

#include <cstddef>

extern "C" {

/// Loads the device's libraries and notes the target. `config` is lines of "key=value":
/// device=privateuseone:0, library=/path (repeated, in order), max_bytes=N. Touches no device and
/// starts no thread. Returns 0, or 1 with a text in `error`.
[[gnu::visibility("default")]] int opreplay_worker_load(const char* config, char* error,
                                                        std::size_t error_size);

/// Serves requests on `socket_fd` with the journal page mapped from `journal_fd` until the socket
/// is closed. Runs in the forked (or spawned) worker process. Returns the process's exit code.
[[gnu::visibility("default")]] int opreplay_worker_serve(int socket_fd, int journal_fd);
}
