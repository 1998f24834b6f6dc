#include "harness/simdevice/device.h"

namespace opreplay::sim {

// Every launch of an honest device has finished when it returns.
void synchronize() {}

}  // namespace opreplay::sim
