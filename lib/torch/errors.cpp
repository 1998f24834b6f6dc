#include "lib/torch/errors.h"

#include <c10/util/Exception.h>

#include <new>
#include <string>

namespace opreplay {
namespace {

constexpr std::size_t k_max_message = 4096;

Raised describe(ErrorClass error_class, Stage stage, std::string message) {
  // An internal assert is a bug in torch or the device whatever class it is thrown as.
  if (message.find("INTERNAL ASSERT FAILED") != std::string::npos)
    error_class = ErrorClass::internal;
  if (message.size() > k_max_message) message.resize(k_max_message);
  return {error_class, stage, std::move(message)};
}

}  // namespace

Raised describe_current_exception(Stage stage) {
  try {
    throw;
  } catch (const c10::NotImplementedError& e) {
    return describe(ErrorClass::not_implemented, stage, e.what_without_backtrace());
  } catch (const c10::OutOfMemoryError& e) {
    return describe(ErrorClass::out_of_memory, stage, e.what_without_backtrace());
  } catch (const c10::AcceleratorError& e) {
    return describe(ErrorClass::accelerator, stage, e.what_without_backtrace());
  } catch (const c10::IndexError& e) {
    return describe(ErrorClass::index, stage, e.what_without_backtrace());
  } catch (const c10::LinAlgError& e) {
    return describe(ErrorClass::linalg, stage, e.what_without_backtrace());
  } catch (const c10::TypeError& e) {
    return describe(ErrorClass::type, stage, e.what_without_backtrace());
  } catch (const c10::ValueError& e) {
    return describe(ErrorClass::value, stage, e.what_without_backtrace());
  } catch (const c10::Error& e) {
    return describe(ErrorClass::other, stage, e.what_without_backtrace());
  } catch (const std::bad_alloc& e) {
    return describe(ErrorClass::out_of_memory, stage, e.what());
  } catch (const std::exception& e) {
    return describe(ErrorClass::other, stage, e.what());
  } catch (...) {
    return describe(ErrorClass::other, stage, "an exception of unknown type");
  }
}

}  // namespace opreplay
