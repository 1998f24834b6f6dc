#include <c10/core/CPUAllocator.h>

#include <cstring>
#include <new>

#include "harness/simdevice/device.h"
#include "harness/simdevice/state.h"

namespace opreplay::sim {
namespace {

constexpr std::align_val_t k_alignment{64};

void release(void* block) { ::operator delete(block, k_alignment); }

class DeviceAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    require_loaded();
    void* block = ::operator new(bytes, k_alignment, std::nothrow);
    TORCH_CHECK_WITH(OutOfMemoryError, block != nullptr, k_device,
                     " out of memory. Tried to allocate ", bytes, " bytes");
    return {block, block, &release, k_device};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
};

DeviceAllocator g_allocator;
REGISTER_ALLOCATOR(c10::DeviceType::PrivateUse1, &g_allocator)

}  // namespace

c10::Allocator* device_allocator() { return &g_allocator; }

}  // namespace opreplay::sim
