#pragma once
/// What a worker says about itself: torch, the target, the operators it knows.

#include <c10/core/Device.h>

#include <string>

namespace opreplay {

/// "key: value" lines: torch version, the device as given, how many there are.
std::string identity(const c10::Device& device);

/// Every operator schema the loaded libraries register, sorted, one a line.
std::string all_schemas();

}  // namespace opreplay
