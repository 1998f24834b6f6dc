#pragma once
/// The simulated device: torch's PrivateUse1 backend on host memory.
/// This header is what its parts share; the flow of one call is in alias.h (honest) and hook.h
/// (with faults), registration in registry.h.

#include <ATen/core/Generator.h>
#include <c10/core/Allocator.h>
#include <c10/core/Device.h>

namespace opreplay::sim {

inline const c10::Device k_device{c10::DeviceType::PrivateUse1, 0};

/// Device memory: host memory, 64-byte aligned.
c10::Allocator* device_allocator();

/// Blocks until the device is idle: raises what a launch left behind (`throw: {sync: true}`,
/// `poison`).
void synchronize();

/// The generator of the device; its numbers come from a CPU generator of its own.
const at::Generator& default_generator();
at::Generator new_generator();
/// The CPU generator behind a device generator.
at::Generator host_generator(const at::Generator& device_generator);

}  // namespace opreplay::sim
