// What torch asks a backend about itself: device guard (current device, streams, synchronise) and
// hooks (is there a device, generators). One device, one stream, every launch is synchronous.

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "harness/simdevice/device.h"

namespace opreplay::sim {
namespace {

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  Guard() = default;
  explicit Guard(c10::DeviceType) {}

  c10::DeviceType type() const override { return c10::DeviceType::PrivateUse1; }
  c10::Device exchangeDevice(c10::Device device) const override {
    setDevice(device);
    return k_device;
  }
  c10::Device getDevice() const override { return k_device; }
  void setDevice(c10::Device device) const override {
    TORCH_CHECK(device.is_privateuseone() && device.index() <= 0,
                "invalid device ordinal: the simulated device has index 0, found ", device);
  }
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device) const override { return stream(); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream(); }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override { return stream(); }
  c10::Stream getNewStream(c10::Device, int) const override { return stream(); }
  c10::Stream exchangeStream(c10::Stream) const override { return stream(); }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }

  // Nothing is ever queued: an event is done when it is recorded, a stream is always idle.
  void record(void**, const c10::Stream&, const c10::DeviceIndex,
              const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override { synchronize(); }
  void synchronizeEvent(void*) const override { synchronize(); }
  void synchronizeDevice(const c10::DeviceIndex) const override { synchronize(); }

 private:
  static c10::Stream stream() { return c10::Stream(c10::Stream::DEFAULT, k_device); }
};

class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  void setCurrentDevice(c10::DeviceIndex index) const override {
    Guard().setDevice({c10::DeviceType::PrivateUse1, index});
  }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    setCurrentDevice(index);
    return 0;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
    return index < 0 ? c10::DeviceIndex{0} : exchangeDevice(index);
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    return default_generator();
  }
  at::Generator getNewGenerator(c10::DeviceIndex) const override { return new_generator(); }
  at::Device getDeviceFromPtr(void*) const override { return k_device; }
  void resizePrivateUse1Bytes(const c10::Storage& storage, std::size_t bytes) const override {
    c10::DataPtr grown = device_allocator()->allocate(bytes);
    device_allocator()->copy_data(grown.mutable_get(), storage.data(),
                                  std::min(bytes, storage.nbytes()));
    storage.set_data_ptr_noswap(std::move(grown));
    storage.unsafeGetStorageImpl()->set_nbytes(bytes);
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

Hooks g_hooks;
[[maybe_unused]] const bool g_hooks_registered = [] {
  at::RegisterPrivateUse1HooksInterface(&g_hooks);
  // Also marks the backend as present: the autograd engine asks for it.
  c10::register_privateuse1_backend("privateuseone");
  return true;
}();

}  // namespace
}  // namespace opreplay::sim
