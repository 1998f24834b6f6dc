#pragma once
/// Half precision as accelerators compute it: every operator in f32, its result rounded once.
/// torch's CPU kernels round in between in many operators (rsqrt, logit, mish, batch_norm...), so
/// that their values alone would make a device less precise than an honest one.

#include <ATen/core/stack.h>

#include "harness/simdevice/explicit_kernels.h"

namespace opreplay::sim {

/// The values of `op` are its own: it is no view, draws no random numbers, and means the same in
/// f32 (nextafter and nan_to_num ask about their dtype).
bool has_values_to_round(const c10::OperatorHandle& op);

/// Runs `kernel` on the CPU side of the arguments; where some are f16 or bf16 and the device keeps
/// its intermediates in f32, the values are then computed anew from f32 copies and rounded.
void run_rounded_once(const c10::OperatorHandle& op, torch::jit::Stack& host, StackKernel kernel);

}  // namespace opreplay::sim
