#include "lib/torch/identity.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/headeronly/version.h>

#include <set>
#include <sstream>

namespace opreplay {

std::string identity(const c10::Device& device) {
  std::ostringstream out;
  out << "torch: " << TORCH_VERSION << "\n";
  out << "device: " << device.str() << "\n";
  if (!device.is_cpu()) {
    if (c10::impl::hasDeviceGuardImpl(device.type())) {
      const c10::impl::VirtualGuardImpl guard(device.type());
      out << "devices: " << static_cast<int>(guard.deviceCount()) << "\n";
    } else {
      out << "devices: 0\n";
    }
  } else {
    out << "devices: 1\n";
  }
  return out.str();
}

std::string all_schemas() {
  auto& dispatcher = c10::Dispatcher::singleton();
  std::set<std::string> lines;
  for (const c10::OperatorName& name : dispatcher.getAllOpNames())
    if (const auto handle = dispatcher.findSchema(name))
      lines.insert(c10::toString(handle->schema()));
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

}  // namespace opreplay
