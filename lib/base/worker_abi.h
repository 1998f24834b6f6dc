#pragma once
/// The C entry points of a worker library (libopreplay_worker.so). The launcher dlopens it, loads
/// the device once, then forks; a Python launcher calls the same two through ctypes.

#include <cstddef>

/// A device library may export `extern "C" const char* NAME()`: what is invalid about what it was
/// configured with by environment or files, or null.
inline constexpr const char* k_backend_problem = "opreplay_backend_problem";

extern "C" {

/// Loads the device's libraries and notes the target. `config` is lines of "key=value":
/// device=privateuseone:0, library=/path (repeated, in order), max_bytes=N. Touches no device and
/// starts no thread. Returns 0, or a text in `error` with 1 (the device does not load) or 2 (what
/// its library was configured with is invalid: it said so by k_backend_problem).
[[gnu::visibility("default")]] int opreplay_worker_load(const char* config, char* error,
                                                        std::size_t error_size);

/// Serves requests on `socket_fd` with the journal page mapped from `journal_fd` until the socket
/// is closed. Runs in the forked (or spawned) worker process. Returns the process's exit code.
[[gnu::visibility("default")]] int opreplay_worker_serve(int socket_fd, int journal_fd);
}
