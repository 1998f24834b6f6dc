#pragma once
/// Tests of the simulated device: a process can load it once, with one fault file, so every body
/// runs in a forked child of its own.

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace opreplay::test {

/// What became of a child: the text its body returned, or "Type: first line" of what it threw;
/// "signal N" or "exit N" if it ended otherwise.
std::string on_device(const std::string& fault_file, const std::function<std::string()>& body);

/// The same on a device with one fault: the keys op, when, do in YAML's flow style.
std::string with_fault(const std::string& keys, const std::function<std::string()>& body);

/// Loads the device into this process (for bodies that fork themselves).
void load_device();
/// Runs `body` in a child, as `on_device` does, without loading anything.
std::string in_child(const std::function<std::string()>& body);

/// f32 tensors from values, on the CPU and on the device.
at::Tensor host(std::initializer_list<float> values, c10::IntArrayRef sizes = {-1});
at::Tensor device(std::initializer_list<float> values, c10::IntArrayRef sizes = {-1});
at::Tensor to_device(const at::Tensor& tensor);
/// Blocks until the device is idle.
void synchronize();

/// Values in row-major order, "1 2.5 nan -inf".
std::string show(const at::Tensor& tensor);

/// Calls "aten::name.overload" boxed with the given arguments (defaults filled in).
std::vector<c10::IValue> call(const std::string& name, std::vector<c10::IValue> args);

}  // namespace opreplay::test
