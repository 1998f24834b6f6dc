// Effects on the result: wrong values, wrong metadata, writes that did or did not happen.

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/full.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "harness/simdevice/alias.h"
#include "harness/simdevice/conditions.h"
#include "harness/simdevice/device.h"
#include "harness/simdevice/effects.h"
#include "harness/simdevice/values.h"
#include "lib/torch/dtype_map.h"

namespace opreplay::sim {
namespace {

using c10::IValue;

/// What memory that no kernel has written holds: NaN in every floating dtype.
constexpr int k_unwritten_byte = 0xff;

/// One element of `host` as a 0-dim view; elements are counted in row-major order of the sizes.
at::Tensor element(const at::Tensor& host, std::int64_t index) {
  at::Tensor view = host;
  std::vector<std::int64_t> position(static_cast<std::size_t>(host.dim()));
  for (std::int64_t dim = host.dim(); dim-- > 0; index /= host.size(dim))
    position[static_cast<std::size_t>(dim)] = index % host.size(dim);
  for (const std::int64_t one : position) view = view.select(0, one);
  return view;
}

at::Tensor unwritten_like(const at::Tensor& host) {
  at::Tensor garbage = at::zeros(host.sizes(), host.options());
  std::memset(garbage.mutable_data_ptr(), k_unwritten_byte, garbage.nbytes());
  return garbage;
}

std::string result_key(const Fault& fault, const Call& call) {
  return fault.name + " " + call.name;
}

/// Changes one result. `host` is the CPU side of its memory; what replaces the result as a whole
/// goes to `replacement`.
class ResultEffects {
 public:
  ResultEffects(const Fault& fault, const Call& call, const Before& before, at::Tensor result)
      : fault_(fault),
        call_(call),
        before_(before),
        result_(std::move(result)),
        host_(host_alias(result_)) {}

  at::Tensor run() {
    for (const Effect& effect : fault_.effects)
      std::visit([this](const auto& one) { apply(one); }, effect);
    return replacement_.defined() ? replacement_ : result_;
  }

 private:
  void apply(const SetElement& effect) {
    if (effect.index >= host_.numel()) return;
    at::Tensor chosen = element(host_, effect.index);
    switch (effect.how) {
      case SetElement::How::factor:
        chosen.copy_(chosen.to(c10::kDouble).mul(effect.number));
        return;
      case SetElement::How::value:
        chosen.fill_(scalar_for({FillValue::Kind::number, effect.number}, host_.scalar_type()));
        return;
      case SetElement::How::neighbour:
        if (host_.numel() < 2) return;
        chosen.copy_(
            element(host_, effect.index + 1 < host_.numel() ? effect.index + 1 : effect.index - 1));
        return;
    }
  }
  void apply(const ScaleBy& effect) {
    const bool exact = host_.scalar_type() == c10::kDouble || host_.is_complex();
    host_.copy_((exact ? host_ : host_.to(c10::kDouble)).mul(effect.factor));
  }
  void apply(const FillWith& effect) {
    if (host_.numel() == 0) return;
    if (effect.value.kind == FillValue::Kind::first) {
      host_.copy_(element(host_, 0).clone());
    } else {
      host_.fill_(scalar_for(effect.value, host_.scalar_type()));
    }
  }
  void apply(const Tail& effect) {
    const std::int64_t dim = effect.dim < 0 ? effect.dim + host_.dim() : effect.dim;
    if (dim < 0 || dim >= host_.dim() || host_.size(dim) <= effect.from) return;
    host_.narrow(dim, effect.from, host_.size(dim) - effect.from)
        .fill_(scalar_for(effect.value, host_.scalar_type()));
  }
  void apply(const StaleRow&) {
    const at::Tensor last = previous();
    if (host_.dim() == 0 || host_.numel() == 0) return;
    const std::int64_t row = host_.size(0) - 1;
    if (last.defined()) {
      host_.select(0, row).copy_(last.select(0, row));
    } else {
      host_.select(0, row).zero_();
    }
  }
  void apply(const StaleResult&) {
    if (const at::Tensor last = previous(); last.defined()) host_.copy_(last);
  }
  void apply(const MapResult& effect) { host_.copy_(with_classes_mapped(effect.map, host_)); }
  void apply(const Clip& effect) {
    if (effect.min) host_.clamp_min_(*effect.min);
    if (effect.max) host_.clamp_max_(*effect.max);
  }
  void apply(const RoundHalfUp&) {
    const at::Tensor input = first_input();
    if (!input.defined() || input.sizes() != host_.sizes()) return;
    const at::Tensor down = input.floor();
    const at::Tensor half = input.sub(down).eq(0.5);
    host_.copy_(at::where(half, down.add(1), host_));
  }
  void apply(const Swap& effect) {
    if (std::max(effect.first, effect.second) >= host_.numel()) return;
    const at::Tensor kept = element(host_, effect.first).clone();
    element(host_, effect.first).copy_(element(host_, effect.second));
    element(host_, effect.second).copy_(kept);
  }
  void apply(const Unwritten& effect) {
    const auto lost =
        static_cast<std::int64_t>(std::ceil(effect.fraction * static_cast<double>(host_.numel())));
    const at::Tensor old = memory_before();
    for (std::int64_t i = host_.numel() - lost; i < host_.numel(); ++i)
      element(host_, i).copy_(element(old, i));
  }
  void apply(const DropWrite& effect) {
    if (effect.arg.empty()) {
      if (effect.index == fault_.output) host_.copy_(memory_before());
      return;
    }
    for (std::size_t i = 0; i < call_.args.size(); ++i)
      if (call_.schema().arguments()[i].name() == effect.arg && before_.tensors[i].defined())
        host_alias(call_.args[i].toTensor()).copy_(before_.tensors[i]);
  }
  void apply(const ModifyInput& effect) {
    for (const at::Tensor& tensor : call_.tensors(effect.arg)) {
      if (tensor.numel() == 0) continue;
      at::Tensor first = element(host_alias(tensor), 0);
      first.copy_(first.scalar_type() == c10::kBool ? first.logical_not() : first.add(1));
    }
  }
  void apply(const OobWrite& effect) {
    write_past(host_, effect.bytes);
    // A result of the kernel's own has no neighbour that anyone looks at: the block behind an
    // input is hit as well, as in a device's heap.
    for (const at::Tensor& tensor : call_.tensors("")) write_past(host_alias(tensor), effect.bytes);
  }
  void apply(const DropRows& effect) {
    if (result_.dim() == 0) return;
    const std::int64_t rows = std::max<std::int64_t>(result_.size(0) - effect.count, 0);
    replacement_ = result_.narrow(0, 0, rows).clone();
  }
  void apply(const WrongDType& effect) { replacement_ = result_.to(to_torch(effect.dtype)); }
  void apply(const WrongShape& effect) {
    at::Tensor made = at::zeros(effect.sizes, host_.options());
    const std::int64_t kept = std::min(made.numel(), host_.numel());
    made.view({-1}).narrow(0, 0, kept).copy_(host_.reshape({-1}).narrow(0, 0, kept));
    replacement_ = to_device(made);
  }
  void apply(const OnCpu&) { replacement_ = host_.clone(); }
  void apply(const NoAlias&) { replacement_ = result_.clone(); }
  // The other effects took place before or during the launch.
  template <class Other>
  void apply(const Other&) {}

  /// The last call's result, if it fits this one.
  at::Tensor previous() const {
    const at::Tensor last =
        process_state().exchange_result(result_key(fault_, call_), host_.clone());
    const bool fits = last.defined() && last.sizes() == host_.sizes() &&
                      last.scalar_type() == host_.scalar_type();
    return fits ? last : at::Tensor();
  }

  at::Tensor first_input() const {
    for (const at::Tensor& tensor : before_.tensors)
      if (tensor.defined()) return tensor;
    return {};
  }

  /// What the result's memory held before the call: an argument's if it is one, else garbage.
  at::Tensor memory_before() const {
    for (std::size_t i = 0; i < call_.args.size(); ++i)
      if (call_.args[i].isTensor() && call_.args[i].toTensor().is_same(result_) &&
          before_.tensors[i].defined() && before_.tensors[i].sizes() == host_.sizes())
        return before_.tensors[i];
    return unwritten_like(host_);
  }

  /// Flips bytes behind the last element, as far as the storage goes: beyond it lies the process's
  /// own heap, and what breaks there would be no finding about the device.
  static void write_past(const at::Tensor& host, std::int64_t bytes) {
    if (host.numel() == 0) return;
    std::int64_t last = host.storage_offset();
    for (std::int64_t dim = 0; dim < host.dim(); ++dim)
      last += (host.size(dim) - 1) * host.stride(dim);
    const auto end = static_cast<std::size_t>(last + 1) * host.itemsize();
    const std::size_t limit = host.storage().nbytes();
    auto* memory = static_cast<unsigned char*>(host.storage().mutable_data());
    for (std::size_t i = end; i < std::min(end + static_cast<std::size_t>(bytes), limit); ++i)
      memory[i] = static_cast<unsigned char>(~memory[i]);
  }

  const Fault& fault_;
  const Call& call_;
  const Before& before_;
  at::Tensor result_, host_, replacement_;
};

bool needs_old_values(const Fault& fault) {
  return find_effect<Unwritten>(fault) != nullptr || find_effect<DropWrite>(fault) != nullptr ||
         find_effect<RoundHalfUp>(fault) != nullptr;
}

/// The result that the fault is about; undefined if the call gives none.
at::Tensor chosen_result(const Fault& fault, const std::vector<IValue>& results) {
  std::int64_t index = fault.output;
  for (const IValue& result : results) {
    if (result.isTensor() && index-- == 0) return result.toTensor();
    if (!result.isTensorList()) continue;
    for (const at::Tensor& tensor : result.toTensorVector())
      if (index-- == 0) return tensor;
  }
  return {};
}

/// Sets the n-th tensor of the results; a list of tensors counts item by item.
void set_tensor(std::vector<IValue>& results, std::int64_t index, const at::Tensor& tensor) {
  for (IValue& result : results) {
    if (result.isTensorList()) {
      c10::List<at::Tensor> list = result.toTensorList();
      if (index < static_cast<std::int64_t>(list.size()))
        return list.set(static_cast<std::size_t>(index), tensor);
      index -= static_cast<std::int64_t>(list.size());
    } else if (result.isTensor()) {
      if (index-- == 0) return void(result = tensor);
    }
  }
}

}  // namespace

Before keep(const Fault& fault, const Call& call) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  Before before;
  before.tensors.resize(call.args.size());
  if (needs_old_values(fault))
    for (std::size_t i = 0; i < call.args.size(); ++i)
      if (call.args[i].isTensor() && call.args[i].toTensor().defined())
        before.tensors[i] = host_alias(call.args[i].toTensor()).clone();
  if (fault.where) {
    const auto tensors = call.tensors(fault.where->arg);
    if (!tensors.empty())
      before.where = element_mask(fault.where->test, host_alias(tensors.front()));
  }
  return before;
}

void change_results(const Fault& fault, const Call& call, const Before& before,
                    const std::optional<at::Tensor>& honest, std::vector<IValue>& results) {
  const at::Tensor result = chosen_result(fault, results);
  if (!result.defined()) return;
  const at::Tensor changed = ResultEffects(fault, call, before, result).run();
  if (!changed.is_same(result)) set_tensor(results, fault.output, changed);
  if (honest && before.where.defined()) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const at::Tensor host = host_alias(changed);
    TORCH_CHECK(host.sizes() == before.where.sizes() && host.sizes() == honest->sizes(), "fault '",
                fault.name, "': where needs a result of its argument's shape ",
                before.where.sizes(), ", found ", host.sizes());
    host.copy_(at::where(before.where, host, *honest));
  }
}

void remember_result(const Fault& fault, const Call& call, const std::vector<IValue>& results) {
  if (find_effect<StaleResult>(fault) == nullptr && find_effect<StaleRow>(fault) == nullptr) return;
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  if (const at::Tensor result = chosen_result(fault, results); result.defined())
    process_state().exchange_result(result_key(fault, call), host_alias(result).clone());
}

at::Tensor changed_gradient(const Fault& fault, const Call& call, const at::Tensor& gradient) {
  Before nothing;
  nothing.tensors.resize(call.args.size());
  return ResultEffects(fault, call, nothing, gradient.clone()).run();
}

std::vector<IValue> made_up_results(const AcceptInvalid& effect, const Call& call) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const auto inputs = call.tensors("");
  const auto options = at::TensorOptions(c10::kCPU).dtype(
      inputs.empty() ? c10::kFloat : inputs.front().scalar_type());
  std::vector<std::int64_t> sizes = effect.shape;
  if (!effect.shape_of.empty())
    if (const auto shaped = call.tensors(effect.shape_of); !shaped.empty())
      sizes = shaped.front().sizes().vec();
  std::vector<IValue> results;
  for (std::size_t i = 0; i < call.schema().returns().size(); ++i)
    results.emplace_back(to_device(at::full(
        sizes, scalar_for(effect.fill, c10::typeMetaToScalarType(options.dtype())), options)));
  return results;
}

}  // namespace opreplay::sim
