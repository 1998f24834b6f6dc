#pragma once
/// The operators whose sums the device adds in an order of its own (Arithmetic): matrix products,
/// convolution, sum, mean, softmax, layer_norm. The CPU kernel runs first and settles everything
/// but the values (checks, shapes, dtypes, out= and in-place); the values are then computed anew.
/// Integer and complex calls keep the CPU's values.

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/ArrayRef.h>

#include <string_view>
#include <vector>

#include "harness/simdevice/arithmetic.h"

namespace opreplay::sim {

/// Computes the values of `outputs` from the CPU-side `inputs` of the call.
using OwnKernel = void (*)(const Arithmetic& how, c10::ArrayRef<c10::IValue> inputs,
                           const std::vector<at::Tensor>& outputs);

/// The own kernel of "aten::mm", "aten::sum.dim_IntList"...; null for all others.
OwnKernel find_own_kernel(std::string_view qualified_name);

void own_convolution(const Arithmetic& how, c10::ArrayRef<c10::IValue> inputs,
                     const std::vector<at::Tensor>& outputs);
void own_mm(const Arithmetic& how, c10::ArrayRef<c10::IValue> inputs,
            const std::vector<at::Tensor>& outputs);
void own_addmm(const Arithmetic& how, c10::ArrayRef<c10::IValue> inputs,
               const std::vector<at::Tensor>& outputs);
void own_sum(const Arithmetic& how, c10::ArrayRef<c10::IValue> inputs,
             const std::vector<at::Tensor>& outputs);
void own_sum_dim(const Arithmetic& how, c10::ArrayRef<c10::IValue> inputs,
                 const std::vector<at::Tensor>& outputs);
void own_mean(const Arithmetic& how, c10::ArrayRef<c10::IValue> inputs,
              const std::vector<at::Tensor>& outputs);
void own_mean_dim(const Arithmetic& how, c10::ArrayRef<c10::IValue> inputs,
                  const std::vector<at::Tensor>& outputs);
void own_softmax(const Arithmetic& how, c10::ArrayRef<c10::IValue> inputs,
                 const std::vector<at::Tensor>& outputs);
void own_log_softmax(const Arithmetic& how, c10::ArrayRef<c10::IValue> inputs,
                     const std::vector<at::Tensor>& outputs);
void own_layer_norm(const Arithmetic& how, c10::ArrayRef<c10::IValue> inputs,
                    const std::vector<at::Tensor>& outputs);

/// The arithmetic of calls on this thread: what the fault file declares, unless a scope says
/// otherwise.
const Arithmetic& current_arithmetic();
void declare_arithmetic(const Arithmetic& declared);
class ArithmeticScope {
 public:
  explicit ArithmeticScope(const Arithmetic& how);
  ~ArithmeticScope();
  ArithmeticScope(const ArithmeticScope&) = delete;
  ArithmeticScope& operator=(const ArithmeticScope&) = delete;

 private:
  Arithmetic how_;
  const Arithmetic* outer_;
};

}  // namespace opreplay::sim
