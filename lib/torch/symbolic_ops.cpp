#include "lib/torch/symbolic_ops.h"

#include <cmath>
#include <functional>
#include <map>

#include "opreplay/error.h"

namespace opreplay {
namespace {

using c10::IValue;

bool is_integer(const IValue& value) { return value.isInt() || value.isBool(); }

std::int64_t to_int(const IValue& value) { return value.isBool() ? value.toBool() : value.toInt(); }

double to_double(const IValue& value) {
  if (value.isDouble()) return value.toDouble();
  return static_cast<double>(to_int(value));
}

[[noreturn]] void refuse(const std::string& why) { throw Error(ExitCode::invalid_input, why); }

/// Python's // and %: rounded towards minus infinity.
std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return quotient - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0);
}

using Binary = std::function<IValue(const IValue&, const IValue&)>;

template <class Op>
Binary arithmetic(Op op) {
  return [op](const IValue& a, const IValue& b) -> IValue {
    if (is_integer(a) && is_integer(b)) return op(to_int(a), to_int(b));
    return op(to_double(a), to_double(b));
  };
}

const std::map<std::string, Binary>& binaries() {
  static const std::map<std::string, Binary> table = {
      {"add", arithmetic([](auto a, auto b) { return a + b; })},
      {"sub", arithmetic([](auto a, auto b) { return a - b; })},
      {"mul", arithmetic([](auto a, auto b) { return a * b; })},
      {"lt", arithmetic([](auto a, auto b) { return a < b; })},
      {"le", arithmetic([](auto a, auto b) { return a <= b; })},
      {"gt", arithmetic([](auto a, auto b) { return a > b; })},
      {"ge", arithmetic([](auto a, auto b) { return a >= b; })},
      {"eq", arithmetic([](auto a, auto b) { return a == b; })},
      {"ne", arithmetic([](auto a, auto b) { return a != b; })},
      {"sym_max", arithmetic([](auto a, auto b) { return a < b ? b : a; })},
      {"sym_min", arithmetic([](auto a, auto b) { return b < a ? b : a; })},
      {"truediv",
       [](const IValue& a, const IValue& b) -> IValue { return to_double(a) / to_double(b); }},
      {"pow",
       [](const IValue& a, const IValue& b) -> IValue {
         const double power = std::pow(to_double(a), to_double(b));
         if (is_integer(a) && is_integer(b) && to_int(b) >= 0)
           return static_cast<std::int64_t>(power);
         return power;
       }},
      {"floordiv",
       [](const IValue& a, const IValue& b) -> IValue {
         if (is_integer(a) && is_integer(b)) return floor_div(to_int(a), to_int(b));
         return std::floor(to_double(a) / to_double(b));
       }},
      {"mod",
       [](const IValue& a, const IValue& b) -> IValue {
         if (is_integer(a) && is_integer(b))
           return to_int(a) - floor_div(to_int(a), to_int(b)) * to_int(b);
         return to_double(a) - std::floor(to_double(a) / to_double(b)) * to_double(b);
       }},
      {"and_",
       [](const IValue& a, const IValue& b) -> IValue {
         if (a.isBool() && b.isBool()) return a.toBool() && b.toBool();
         return to_int(a) & to_int(b);
       }},
      {"or_",
       [](const IValue& a, const IValue& b) -> IValue {
         if (a.isBool() && b.isBool()) return a.toBool() || b.toBool();
         return to_int(a) | to_int(b);
       }},
  };
  return table;
}

std::int64_t rounded(double value) { return static_cast<std::int64_t>(value); }

const std::map<std::string, std::function<IValue(const IValue&)>>& unaries() {
  static const std::map<std::string, std::function<IValue(const IValue&)>> table = {
      {"neg",
       [](const IValue& a) -> IValue {
         if (is_integer(a)) return -to_int(a);
         return -to_double(a);
       }},
      {"pos", [](const IValue& a) { return a; }},
      {"abs",
       [](const IValue& a) -> IValue {
         if (is_integer(a)) return std::abs(to_int(a));
         return std::abs(to_double(a));
       }},
      {"not_", [](const IValue& a) -> IValue { return to_double(a) == 0; }},
      {"sym_not", [](const IValue& a) -> IValue { return to_double(a) == 0; }},
      {"sym_float", [](const IValue& a) -> IValue { return to_double(a); }},
      {"sym_int", [](const IValue& a) -> IValue { return rounded(std::trunc(to_double(a))); }},
      {"trunc", [](const IValue& a) -> IValue { return rounded(std::trunc(to_double(a))); }},
      {"floor", [](const IValue& a) -> IValue { return rounded(std::floor(to_double(a))); }},
      {"ceil", [](const IValue& a) -> IValue { return rounded(std::ceil(to_double(a))); }},
      {"round", [](const IValue& a) -> IValue { return rounded(std::nearbyint(to_double(a))); }},
      {"sqrt", [](const IValue& a) -> IValue { return std::sqrt(to_double(a)); }},
      {"_sym_sqrt", [](const IValue& a) -> IValue { return std::sqrt(to_double(a)); }},
  };
  return table;
}

}  // namespace

IValue call_symbolic(const std::string& target, const std::vector<IValue>& arguments) {
  const std::string name = target.substr(target.rfind('.') + 1);
  for (const IValue& argument : arguments)
    if (!is_integer(argument) && !argument.isDouble())
      refuse("arithmetic on symbolic sizes: an operand is no number");
  if (arguments.size() == 2) {
    const bool divides = name == "floordiv" || name == "mod" || name == "truediv";
    if (divides && to_double(arguments[1]) == 0)
      refuse("arithmetic on symbolic sizes: division by zero");
    if (const auto op = binaries().find(name); op != binaries().end())
      return op->second(arguments[0], arguments[1]);
  } else if (arguments.size() == 1) {
    if (const auto op = unaries().find(name); op != unaries().end())
      return op->second(arguments[0]);
  }
  refuse("a Python function, not an operator, and not known as arithmetic on symbolic sizes");
}

}  // namespace opreplay
