// The worker library: the C entry points of lib/base/worker_abi.h over lib/torch.

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "lib/base/graph_run.h"
#include "lib/base/request.h"
#include "lib/base/worker_abi.h"
#include "lib/base/worker_protocol.h"
#include "lib/torch/identity.h"
#include "lib/torch/interpreter.h"
#include "lib/torch/replay.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

/// What opreplay_worker_load learnt; read by the forked children.
struct Loaded {
  ReplayTarget target;
  std::vector<std::string> libraries;
};
Loaded* g_loaded = nullptr;

void load_library(const std::string& path) {
  // Kept open for the life of the process: the library registers its kernels when it is loaded.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) throw std::runtime_error(dlerror());
  const auto problem = reinterpret_cast<const char* (*)()>(dlsym(library, k_backend_problem));
  if (const char* text = problem ? problem() : nullptr) throw Error(ExitCode::invalid_input, text);
}

Loaded load(const std::string& config) {
  Loaded loaded;
  std::istringstream lines(config);
  std::string device;
  for (std::string line; std::getline(lines, line);) {
    const auto equals = line.find('=');
    if (equals == std::string::npos) throw std::runtime_error("no key=value line: " + line);
    const std::string key = line.substr(0, equals), value = line.substr(equals + 1);
    if (key == "device") {
      device = value;
    } else if (key == "library") {
      loaded.libraries.push_back(value);
    } else if (key == "max_bytes") {
      loaded.target.max_bytes = std::stoll(value);
    } else {
      throw std::runtime_error("unknown key: " + key);
    }
  }
  // Before any operator runs: children forked from a parent with a thread pool hang in it.
  at::set_num_threads(1);
  for (const std::string& library : loaded.libraries) load_library(library);
  loaded.target.device = c10::Device(device);
  return loaded;
}

class TorchHandler : public WorkerHandler {
 public:
  explicit TorchHandler(const Loaded& loaded) : loaded_(loaded) {}

  std::vector<std::byte> handle(MessageKind kind, std::span<const std::byte> payload,
                                Journal& journal) override {
    switch (kind) {
      case MessageKind::replay:
        return encode(run(decode_request(payload), journal));
      case MessageKind::identity:
        return bytes(identity(loaded_.target.device));
      case MessageKind::schemas:
        return bytes(all_schemas());
      case MessageKind::run_graph:
        return encode(run_graph(decode_graph_run_request(payload)));
      case MessageKind::hello:
        break;
    }
    throw std::runtime_error("a request of unknown kind");
  }

 private:
  /// A case that cannot be set up is no verdict on the device: lost, with the reason.
  Outcome run(const ReplayRequest& request, Journal& journal) const {
    try {
      return replay(request, loaded_.target, journal);
    } catch (const Error& error) {
      Outcome outcome;
      outcome.ending = Ending::lost;
      outcome.notes.push_back(error.what());
      return outcome;
    }
  }

  static std::vector<std::byte> bytes(const std::string& text) {
    const auto* data = reinterpret_cast<const std::byte*>(text.data());
    return {data, data + text.size()};
  }

  const Loaded& loaded_;
};

}  // namespace
}  // namespace opreplay

extern "C" {

int opreplay_worker_load(const char* config, char* error, std::size_t error_size) {
  const auto give = [&](const char* text) {
    if (error_size == 0) return;
    std::strncpy(error, text, error_size - 1);
    error[error_size - 1] = '\0';
  };
  try {
    opreplay::g_loaded = new opreplay::Loaded(opreplay::load(config));
    return 0;
  } catch (const opreplay::Error& e) {
    give(e.what());
    return 2;
  } catch (const std::exception& e) {
    give(e.what());
    return 1;
  }
}

int opreplay_worker_serve(int socket_fd, int journal_fd) {
  opreplay::TorchHandler handler(*opreplay::g_loaded);
  return opreplay::serve_process(socket_fd, journal_fd, handler);
}
}
