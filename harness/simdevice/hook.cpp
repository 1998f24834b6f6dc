#include "harness/simdevice/hook.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/CPUFallback.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "harness/simdevice/alias.h"
#include "harness/simdevice/conditions.h"
#include "harness/simdevice/effects.h"
#include "harness/simdevice/own_kernels.h"

namespace opreplay::sim {
namespace {

using c10::IValue;
using c10::OperatorHandle;
using torch::jit::Stack;

/// Where inner kernels of a composite operator run.
enum class Placement { device, visible_fallback, hidden_fallback };

thread_local int t_depth = 0;
thread_local Placement t_placement = Placement::device;

template <class T>
class Restore {
 public:
  Restore(T& variable, T value) : variable_(variable), old_(variable) { variable = value; }
  ~Restore() { variable_ = old_; }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

 private:
  T& variable_;
  T old_;
};

Placement placement_of(const Fault& fault) {
  if (find_effect<CpuFallback>(fault) != nullptr) return Placement::visible_fallback;
  if (find_effect<SilentCpu>(fault) != nullptr) return Placement::hidden_fallback;
  return Placement::device;
}

/// The arithmetic of a faulty kernel; nothing if the fault leaves it alone.
std::optional<Arithmetic> arithmetic_of(const Fault& fault, const Call& call) {
  Arithmetic how = current_arithmetic();
  const Arithmetic declared = how;
  if (const auto* accumulate = find_effect<AccumulateIn>(fault)) {
    if (accumulate->dtype == DType::f16) how.accumulate = Accumulator::f16;
    if (accumulate->dtype == DType::bf16) how.accumulate = Accumulator::bf16;
  }
  if (find_effect<DropTerm>(fault) != nullptr) how.drop_term = true;
  if (find_effect<OrderRandom>(fault) != nullptr) {
    how.order = Order::random;
    how.seed = mix(process_state().nonce(), call.entry.serial);
  }
  if (how == declared) return std::nullopt;
  return how;
}

/// Aliasing views and allocation have nothing to compute on the CPU.
bool computes(const OperatorHandle& op) {
  const auto& arguments = op.schema().arguments();
  return std::none_of(arguments.begin(), arguments.end(), [](const c10::Argument& argument) {
    return argument.alias_info() != nullptr && !argument.alias_info()->isWrite();
  });
}

/// Runs one call with one fault in it. Several faults nest: each takes the next one's way of
/// running the call for the honest one.
using Run = std::function<void(Stack&)>;

class FaultyRun {
 public:
  FaultyRun(const Fault& fault, const Call& call, Run honest)
      : fault_(fault), call_(call), honest_(std::move(honest)) {}

  void operator()(Stack& stack) const {
    const Before before = keep(fault_, call_);
    before_launch(fault_, call_);
    const std::size_t first = stack.size() - call_.args.size();
    const std::vector<IValue> given(stack.begin() + static_cast<std::ptrdiff_t>(first),
                                    stack.end());
    const auto copies = changed_copies(fault_, call_);

    stack.resize(first);
    std::vector<IValue> results;
    if (const auto* lenient = find_effect<AcceptInvalid>(fault_)) {
      try {
        results = compute(given);
      } catch (const c10::Error&) {
        results = made_up_results(*lenient, call_);
      }
    } else {
      results = compute(given);
    }

    std::optional<at::Tensor> honest;
    if (fault_.where) honest = first_copy(results);
    if (copies) replace_values(*copies, results);
    {
      const c10::AutoGradMode no_grad(false);
      change_results(fault_, call_, before, honest, results);
    }
    after_launch(fault_, call_);
    for (IValue& result : results) stack.push_back(std::move(result));
  }

 private:
  /// The call as the faulty kernel computes it, on the caller's memory.
  std::vector<IValue> compute(const std::vector<IValue>& given) const {
    std::vector<IValue> read = given;
    if (find_effect<Ignore>(fault_) != nullptr) read = misread(fault_, call_, std::move(read));
    std::vector<IValue> results = run(read);
    // A result that is a misread argument is that argument.
    for (IValue& result : results)
      for (std::size_t i = 0; i < given.size(); ++i)
        if (result.isTensor() && read[i].isTensor() && given[i].isTensor() &&
            result.toTensor().is_same(read[i].toTensor()) &&
            is_written(call_.schema().arguments()[i])) {
          if (!read[i].toTensor().is_alias_of(given[i].toTensor()))
            host_alias(given[i].toTensor()).copy_(host_alias(read[i].toTensor()));
          result = given[i];
        }
    return results;
  }

  std::vector<IValue> run(const std::vector<IValue>& args) const {
    Stack stack(args.begin(), args.end());
    if (const auto how = arithmetic_of(fault_, call_)) {
      const ArithmeticScope scope(*how);
      honest_(stack);
    } else {
      honest_(stack);
    }
    return {stack.begin(), stack.end()};
  }

  /// Computes once more from changed inputs and puts the values where the first results lie.
  void replace_values(const std::vector<IValue>& copies, std::vector<IValue>& results) const {
    const c10::AutoGradMode no_grad(false);
    const std::vector<IValue> changed = run(copies);
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto to = tensors_of(results[i]), from = tensors_of(changed[i]);
      for (std::size_t j = 0; j < std::min(to.size(), from.size()); ++j)
        if (to[j].sizes() == from[j].sizes())
          host_alias(to[j]).copy_(narrowed(fault_, host_alias(from[j]), to[j].scalar_type()));
    }
  }

  std::optional<at::Tensor> first_copy(const std::vector<IValue>& results) const {
    std::int64_t index = fault_.output;
    for (const IValue& result : results)
      for (const at::Tensor& tensor : tensors_of(result))
        if (index-- == 0) return host_alias(tensor).clone();
    return std::nullopt;
  }

  const Fault& fault_;
  const Call& call_;
  Run honest_;
};

bool is_about_backward(const Fault& fault) {
  return std::any_of(fault.when.begin(), fault.when.end(), [](const Condition& condition) {
    const auto* phase = std::get_if<PhaseIs>(&condition);
    return phase != nullptr && phase->backward;
  });
}

class HookedKernel final : public Kernel {
 public:
  HookedKernel(std::unique_ptr<Kernel> honest, std::vector<const Fault*> faults, HookTraits traits)
      : honest_(std::move(honest)), faults_(std::move(faults)), traits_(traits) {}

  void run(const OperatorHandle& op, c10::DispatchKeySet keys, Stack& stack) const override {
    if (t_depth > 0) return run_inner(op, keys, stack);
    const Restore<int> depth(t_depth, 1);
    process_state().require_healthy();
    Call call = enter(op, stack);
    call.result_sizes = [&] { return sizes_of_result(op, keys, call); };

    std::vector<const Fault*> active, backward;
    for (const Fault* fault : faults_) {
      if (applies(*fault, call)) {
        active.push_back(fault);
      } else if (traits_.composite && !call.backward && is_about_backward(*fault) &&
                 applies(*fault, call, /*assume_backward=*/true)) {
        backward.push_back(fault);
      }
    }
    for (const Fault* fault : backward) hook_inputs(*fault, call, stack);
    Run faulty = [&](Stack& s) { run_placed(Placement::device, op, keys, s); };
    for (const Fault* fault : active) {
      const Placement placement = placement_of(*fault);
      if (placement != Placement::device)
        faulty = [&, placement](Stack& s) { run_placed(placement, op, keys, s); };
      faulty = FaultyRun(*fault, call, std::move(faulty));
    }
    const std::size_t first = stack.size() - call.args.size();
    faulty(stack);
    const std::vector<IValue> results(stack.begin() + static_cast<std::ptrdiff_t>(first),
                                      stack.end());
    for (const Fault* fault : backward) hook_results(*fault, call, results);
    for (const Fault* fault : faults_)
      if (std::find(active.begin(), active.end(), fault) == active.end())
        remember_result(*fault, call, results);
  }

 private:
  Call enter(const OperatorHandle& op, const Stack& stack) const {
    const std::size_t count = op.schema().arguments().size();
    Call call{op,
              spec_name(op),
              {stack.end() - static_cast<std::ptrdiff_t>(count), stack.end()},
              in_backward(),
              {},
              {}};
    call.entry = process_state().enter(call.name, signature_of(call.args), call.backward,
                                       traits_.bookkeeping);
    return call;
  }

  void run_inner(const OperatorHandle& op, c10::DispatchKeySet keys, Stack& stack) const {
    if (t_placement == Placement::device || traits_.composite || traits_.bookkeeping ||
        !computes(op))
      return honest_->run(op, keys, stack);
    run_kernel_on_cpu(t_placement, op, stack);
  }

  /// A composite operator falls back where its inner kernels run, so that autograd sees them.
  void run_placed(Placement placement, const OperatorHandle& op, c10::DispatchKeySet keys,
                  Stack& stack) const {
    if (placement == Placement::device || traits_.composite) {
      const Restore<Placement> inner(t_placement, placement);
      return honest_->run(op, keys, stack);
    }
    run_kernel_on_cpu(placement, op, stack);
  }

  static void run_kernel_on_cpu(Placement placement, const OperatorHandle& op, Stack& stack) {
    // The fallback's own copies are no calls of the program.
    const Restore<Placement> copies(t_placement, Placement::device);
    const Restore<int> depth(t_depth, t_depth + 1);
    if (placement == Placement::visible_fallback) return at::native::cpu_fallback(op, &stack);
    run_on_cpu_silently(op, stack);
  }

  std::vector<std::int64_t> sizes_of_result(const OperatorHandle& op, c10::DispatchKeySet keys,
                                            const Call& call) const {
    const c10::AutoGradMode no_grad(false);
    Stack copies;
    for (const IValue& value : call.args)
      copies.push_back(value.isTensor() && value.toTensor().defined()
                           ? IValue(value.toTensor().clone())
                           : value);
    honest_->run(op, keys, copies);
    for (const IValue& result : copies)
      for (const at::Tensor& tensor : tensors_of(result)) return tensor.sizes().vec();
    return {};
  }

  std::unique_ptr<Kernel> honest_;
  std::vector<const Fault*> faults_;
  HookTraits traits_;
};

class MissingKernel final : public Kernel {
 public:
  void run(const OperatorHandle& op, c10::DispatchKeySet, Stack&) const override {
    raise_no_kernel(spec_name(op));
  }
};

}  // namespace

std::unique_ptr<Kernel> hooked(std::unique_ptr<Kernel> honest, std::vector<const Fault*> faults,
                               HookTraits traits) {
  return std::make_unique<HookedKernel>(std::move(honest), std::move(faults), traits);
}

std::unique_ptr<Kernel> missing_kernel() { return std::make_unique<MissingKernel>(); }

}  // namespace opreplay::sim
