#include "harness/simdevice/state.h"

#include <torch/csrc/autograd/graph_task.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "harness/simdevice/device.h"

namespace opreplay::sim {
namespace {

std::string* g_refusal = nullptr;

c10::SourceLocation here(const char* function) { return {function, __FILE__, 0}; }

}  // namespace

std::uint64_t mix(std::uint64_t seed, std::uint64_t value) {
  std::uint64_t z = seed + (value + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

ProcessState::ProcessState() {
  if (const char* nonce = std::getenv("OPREPLAY_SIM_NONCE"))
    nonce_ = std::strtoull(nonce, nullptr, 10);
}

ProcessState& process_state() {
  // A forked child inherits its parent's state; the process id tells. Never destroyed: tensors in
  // it must not outlive torch at exit.
  static std::mutex mutex;
  static ProcessState* state = nullptr;
  static pid_t owner = 0;
  const std::lock_guard lock(mutex);
  if (owner != ::getpid()) {
    state = new ProcessState;
    owner = ::getpid();
  }
  return *state;
}

ProcessState::Entry ProcessState::enter(const std::string& op, const Signature& signature,
                                        bool backward, bool bookkeeping) {
  const std::lock_guard lock(mutex_);
  OpPast& past = past_[op];
  if (!backward) ++past.calls;
  Entry entry{past.calls, previous_, serial_++, past};
  past.shapes.insert(signature.shape);
  past.dtypes.insert(signature.dtype);
  past.scalars.insert(signature.scalar);
  if (!backward && !bookkeeping) previous_ = op;
  return entry;
}

void ProcessState::require_healthy() const {
  const std::lock_guard lock(mutex_);
  if (!poisoned_by_.empty())
    throw c10::AcceleratorError(here("require_healthy"), 710,
                                "device error: the device is lost since " + poisoned_by_);
}

void ProcessState::poison(const std::string& by) {
  const std::lock_guard lock(mutex_);
  poisoned_by_ = by;
}

void ProcessState::leave_behind(const Throw& error) {
  const std::lock_guard lock(mutex_);
  if (!pending_) pending_ = error;
}

std::optional<Throw> ProcessState::take_pending() {
  const std::lock_guard lock(mutex_);
  return std::exchange(pending_, std::nullopt);
}

at::Tensor ProcessState::exchange_result(const std::string& key, const at::Tensor& result) {
  const std::lock_guard lock(mutex_);
  return std::exchange(results_[key], result);
}

void ProcessState::leak(std::int64_t bytes) {
  // Touched, so that it counts as resident memory; lost on purpose.
  const auto size = static_cast<std::size_t>(bytes);
  std::memset(::operator new(size), 0x5a, size);
}

bool in_backward() { return torch::autograd::get_current_graph_task_id() >= 0; }

void raise(const Throw& error) {
  const c10::SourceLocation at = here("launch");
  switch (error.error) {
    case ErrorClass::runtime:
      throw c10::Error(at, error.text);
    case ErrorClass::not_implemented:
      throw c10::NotImplementedError(at, error.text);
    case ErrorClass::index:
      throw c10::IndexError(at, error.text);
    case ErrorClass::value:
      throw c10::ValueError(at, error.text);
    case ErrorClass::type:
      throw c10::TypeError(at, error.text);
    case ErrorClass::linalg:
      throw c10::LinAlgError(at, error.text);
    case ErrorClass::out_of_memory:
      throw c10::OutOfMemoryError(at, error.text);
    case ErrorClass::accelerator:
      break;
  }
  throw c10::AcceleratorError(at, error.code, error.text);
}

void refuse_to_work(const std::string& text) { g_refusal = new std::string(text); }

const char* refusal() { return g_refusal ? g_refusal->c_str() : nullptr; }

void require_loaded() { TORCH_CHECK(g_refusal == nullptr, *g_refusal); }

void synchronize() {
  require_loaded();
  process_state().require_healthy();
  if (const auto error = process_state().take_pending()) raise(*error);
}

}  // namespace opreplay::sim
