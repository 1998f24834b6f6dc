#pragma once
/// One outermost call on the device, as conditions and effects see it.

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/ArrayRef.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/simdevice/state.h"

namespace c10 {
class OperatorHandle;
struct Argument;
struct FunctionSchema;
}  // namespace c10

namespace opreplay::sim {

struct Call {
  const c10::OperatorHandle& op;
  std::string name;  ///< "aten.clamp.Tensor"
  std::vector<c10::IValue> args;
  bool backward = false;
  ProcessState::Entry entry;
  /// Sizes of the first result, found by running the call on copies.
  std::function<std::vector<std::int64_t>()> result_sizes;

  const c10::FunctionSchema& schema() const;
  /// The argument, or null if the schema has none of that name.
  const c10::IValue* find(const std::string& argument) const;
  /// Defined tensors of the argument; of all arguments if the name is empty. Lists give several.
  std::vector<at::Tensor> tensors(const std::string& argument) const;
};

/// "aten::clamp.Tensor" as op-specs write it: "aten.clamp.Tensor".
std::string spec_name(const c10::OperatorHandle& op);
/// The schema says that the call writes the argument.
bool is_written(const c10::Argument& argument);
/// The argument is a dtype (an int in the stack).
bool names_dtype(const c10::Argument& argument);
/// Defined tensors of one value.
std::vector<at::Tensor> tensors_of(const c10::IValue& value);
/// The value with each of its tensors (those of lists, and undefined ones too) replaced by what
/// `change` gives for it; any other value as it is.
template <class Change>
c10::IValue with_tensors(const c10::IValue& value, const Change& change) {
  if (value.isTensor()) return change(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(change(tensor));
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const auto& tensor : value.toOptionalTensorVector())
      list.push_back(tensor ? std::optional<at::Tensor>(change(*tensor)) : std::nullopt);
    return list;
  }
  return value;
}
/// Hashes of shapes, dtypes and scalars of the arguments.
Signature signature_of(const std::vector<c10::IValue>& args);
/// How many terms one result of a reducing call adds up; nothing if the call reduces nothing known.
std::optional<std::int64_t> reduced_length(const Call& call);

}  // namespace opreplay::sim
