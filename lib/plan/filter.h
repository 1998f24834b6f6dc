#pragma once
/// The -k expression: words joined by `and`, `or`, `not` and parentheses.

#include <memory>
#include <string>
#include <string_view>

namespace opreplay {

/// A word matches if it is part of the case string, or is "id:HEX" and begins the case id. A word
/// with blanks or parentheses is put in double quotes. The empty expression matches everything.
class Filter {
 public:
  /// Throws Error{usage} naming the column of the problem.
  explicit Filter(std::string_view expression);
  ~Filter();
  bool matches(std::string_view case_text, std::string_view case_id) const;

 private:
  struct Node;
  class Parser;
  std::unique_ptr<Node> root_;
};

}  // namespace opreplay
