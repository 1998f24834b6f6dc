#include "lib/torch/boxed_call.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/List.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "lib/base/schema.h"
#include "lib/base/torch_enums.h"
#include "lib/torch/dtype_map.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

using c10::IValue;
using c10::TypeKind;

[[noreturn]] void refuse(const std::string& path, const c10::Type& type) {
  TORCH_CHECK(false, "argument ", path, ": the value given is no ", type.str());
}

c10::ScalarType parse_scalar_type(const std::string& word, const std::string& path) {
  const auto dtype = parse_dtype(word);
  TORCH_CHECK(dtype, "argument ", path, ": ", word, " is no dtype");
  return to_torch(*dtype);
}

c10::MemoryFormat parse_memory_format(const std::string& word, const std::string& path) {
  const auto found = std::find(k_memory_format_words.begin(), k_memory_format_words.end(), word);
  TORCH_CHECK(found != k_memory_format_words.end(), "argument ", path, ": ", word,
              " is no memory format");
  return static_cast<c10::MemoryFormat>(found - k_memory_format_words.begin());
}

c10::Layout parse_layout(const std::string& word, const std::string& path) {
  TORCH_CHECK(word == "strided", "argument ", path, ": layout ", word,
              " cannot be replayed, only strided");
  return c10::Layout::Strided;
}

/// One call's conversion of values to IValues.
class Converter {
 public:
  explicit Converter(ArgumentSource& source) : source_(source) {}

  /// Some argument converted so far was a tensor (wrapped numbers are none) or came from a graph.
  bool had_tensor() const { return had_tensor_; }

  IValue convert(const Value& value, const c10::TypePtr& type, const std::string& path) {
    if (const auto* ref = value.get<Ref>()) {
      had_tensor_ = true;
      return source_.ref(*ref);
    }
    switch (type->kind()) {
      case TypeKind::OptionalType:
        if (value.is_none()) return {};
        return convert(value, type->castRaw<c10::OptionalType>()->getElementType(), path);
      case TypeKind::TensorType:
        return tensor(value, *type, path);
      case TypeKind::ListType:
        return list(value, type->castRaw<c10::ListType>()->getElementType(), *type, path);
      case TypeKind::NumberType:
        return scalar(value, *type, path);
      case TypeKind::IntType:
      case TypeKind::SymIntType:
        return integer(value, *type, path);
      case TypeKind::FloatType:
      case TypeKind::SymFloatType:
        return floating(value, *type, path);
      case TypeKind::BoolType:
      case TypeKind::SymBoolType:
        if (const auto* flag = value.get<bool>()) return *flag;
        refuse(path, *type);
      case TypeKind::ComplexType:
        if (const auto* z = value.get<std::complex<double>>())
          return c10::complex<double>(z->real(), z->imag());
        refuse(path, *type);
      case TypeKind::StringType:
        if (const auto* text = value.get<std::string>()) return *text;
        refuse(path, *type);
      case TypeKind::ScalarTypeType:
        return source_.dtype(parse_scalar_type(word(value, *type, path), path));
      case TypeKind::LayoutType:
        return parse_layout(word(value, *type, path), path);
      case TypeKind::MemoryFormatType:
        return parse_memory_format(word(value, *type, path), path);
      case TypeKind::DeviceObjType:
        word(value, *type, path);
        return source_.device();
      default:
        // Generators and whatever else no case can hold: only their absence can be replayed.
        if (value.is_none()) return {};
        refuse(path, *type);
    }
  }

 private:
  static const std::string& word(const Value& value, const c10::Type& type,
                                 const std::string& path) {
    if (const auto* w = value.get<Word>()) return w->text;
    refuse(path, type);
  }

  IValue tensor(const Value& value, const c10::Type& type, const std::string& path) {
    if (const auto* arg = value.get<TensorArg>()) {
      had_tensor_ = true;
      return source_.tensor(path, *arg);
    }
    if (value.is_none()) return at::Tensor();
    // A number where the schema says Tensor takes part in type promotion as a number.
    return at::native::wrapped_scalar_tensor(scalar(value, type, path));
  }

  c10::Scalar scalar(const Value& value, const c10::Type& type, const std::string& path) {
    if (const auto* i = value.get<std::int64_t>()) return source_.scalar(*i);
    if (const auto* d = value.get<double>()) return source_.scalar(*d);
    if (const auto* b = value.get<bool>()) return source_.scalar(*b);
    if (const auto* z = value.get<std::complex<double>>())
      return source_.scalar(c10::complex<double>(z->real(), z->imag()));
    refuse(path, type);
  }

  static IValue integer(const Value& value, const c10::Type& type, const std::string& path) {
    if (const auto* i = value.get<std::int64_t>()) return *i;
    if (const auto* b = value.get<bool>()) return static_cast<std::int64_t>(*b);
    refuse(path, type);
  }

  IValue floating(const Value& value, const c10::Type& type, const std::string& path) {
    // Floating arguments of the schema (eps, p, momentum) are doubles inside the op: not rounded.
    if (const auto* d = value.get<double>()) return *d;
    if (const auto* i = value.get<std::int64_t>()) return static_cast<double>(*i);
    refuse(path, type);
  }

  IValue list(const Value& value, const c10::TypePtr& element, const c10::Type& type,
              const std::string& path) {
    const auto* items = value.get<List>();
    if (!items) refuse(path, type);
    const auto at_path = [&path](std::size_t i) { return path + "." + std::to_string(i); };
    const auto fill = [&](auto list_of, auto take) {
      list_of.reserve(items->size());
      for (std::size_t i = 0; i < items->size(); ++i)
        list_of.push_back(take(convert((*items)[i], element, at_path(i))));
      return IValue(std::move(list_of));
    };
    switch (element->kind()) {
      case TypeKind::TensorType:
        return fill(c10::List<at::Tensor>(), [](IValue v) { return std::move(v).toTensor(); });
      case TypeKind::OptionalType: {
        const auto inner = element->castRaw<c10::OptionalType>()->getElementType();
        if (inner->kind() != TypeKind::TensorType) refuse(path, type);
        return fill(c10::List<std::optional<at::Tensor>>(), [](IValue v) {
          return v.isNone() ? std::optional<at::Tensor>() : std::move(v).toTensor();
        });
      }
      case TypeKind::IntType:
      case TypeKind::SymIntType:
        return fill(c10::List<std::int64_t>(), [](const IValue& v) { return v.toInt(); });
      case TypeKind::FloatType:
        return fill(c10::List<double>(), [](const IValue& v) { return v.toDouble(); });
      case TypeKind::BoolType:
        return fill(c10::List<bool>(), [](const IValue& v) { return v.toBool(); });
      case TypeKind::NumberType: {
        c10::impl::GenericList scalars(c10::NumberType::get());
        for (std::size_t i = 0; i < items->size(); ++i)
          scalars.push_back(convert((*items)[i], element, at_path(i)));
        return scalars;
      }
      default:
        refuse(path, type);
    }
  }

  ArgumentSource& source_;
  bool had_tensor_ = false;
};

}  // namespace

c10::IValue ArgumentSource::ref(const Ref&) {
  throw Error(ExitCode::internal, "a single call holds a reference to a graph's value");
}

std::optional<c10::OperatorHandle> find_operator(const std::string& op) {
  const QualifiedName qualified = qualified_name(op);
  auto handle = c10::Dispatcher::singleton().findSchema({qualified.name, qualified.overload});
  return handle ? std::optional(*handle) : std::nullopt;
}

torch::jit::Stack make_stack(const c10::FunctionSchema& schema, const OpCall& call,
                             ArgumentSource& source) {
  Converter converter(source);
  torch::jit::Stack stack;
  stack.reserve(schema.arguments().size());
  std::size_t used = 0;
  for (const c10::Argument& argument : schema.arguments()) {
    if (const Value* value = find_arg(call, argument.name())) {
      ++used;
      stack.push_back(converter.convert(*value, argument.real_type(), argument.name()));
    } else if (argument.name() == "device" && !converter.had_tensor()) {
      // A factory without a device would make its tensor on the CPU. Tensors precede the device in
      // every schema.
      stack.emplace_back(source.device());
    } else if (argument.default_value()) {
      stack.push_back(*argument.default_value());
    } else {
      TORCH_CHECK(argument.type()->kind() == TypeKind::OptionalType, call.op, ": missing argument ",
                  argument.name());
      stack.emplace_back();
    }
  }
  TORCH_CHECK(used == call.args.size(), call.op,
              ": an argument this torch's schema does not have: ", toString(schema));
  return stack;
}

void call_boxed(const c10::OperatorHandle& op, torch::jit::Stack& stack) { op.callBoxed(stack); }

std::string kernel_of(const c10::OperatorHandle& op, c10::DispatchKey key) {
  using c10::DispatchKey;
  if (op.hasKernelForDispatchKey(key)) return "kernel";
  if (!op.hasComputedKernelForDispatchKey(key)) return "missing";
  if (op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd) ||
      op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional))
    return "default backend kernel";
  if (op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd)) return "math kernel";
  return "backend fallback";
}

}  // namespace opreplay
