#include "lib/plan/filter.h"

#include <utility>

#include "opreplay/error.h"

namespace opreplay {

struct Filter::Node {
  enum class Kind { word, negation, conjunction, disjunction };
  Kind kind = Kind::word;
  std::string word;
  std::unique_ptr<Node> left, right;

  bool matches(std::string_view text, std::string_view id) const {
    switch (kind) {
      case Kind::word:
        return word.starts_with("id:") ? id.starts_with(std::string_view(word).substr(3))
                                       : text.find(word) != std::string_view::npos;
      case Kind::negation:
        return !left->matches(text, id);
      case Kind::conjunction:
        return left->matches(text, id) && right->matches(text, id);
      case Kind::disjunction:
        return left->matches(text, id) || right->matches(text, id);
    }
    return false;
  }
};

/// Recursive descent; depth is bounded so that no expression overflows the stack.
class Filter::Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) { advance(); }

  std::unique_ptr<Node> parse() {
    auto node = disjunction();
    if (!token_.empty()) fail("unexpected " + token_);
    return node;
  }

 private:
  using Kind = Node::Kind;
  static constexpr int k_max_depth = 200;

  std::unique_ptr<Node> disjunction() {
    auto node = conjunction();
    while (take("or")) node = join(Kind::disjunction, std::move(node), conjunction());
    return node;
  }
  std::unique_ptr<Node> conjunction() {
    auto node = factor();
    while (take("and")) node = join(Kind::conjunction, std::move(node), factor());
    return node;
  }
  std::unique_ptr<Node> factor() {
    if (++depth_ > k_max_depth) fail("nested too deeply");
    std::unique_ptr<Node> node;
    if (take("not")) {
      node = join(Kind::negation, factor(), nullptr);
    } else if (take("(")) {
      node = disjunction();
      if (!take(")")) fail("expected )");
    } else if (token_.empty() ||
               (!quoted_ && (token_ == ")" || token_ == "and" || token_ == "or"))) {
      fail("expected a word");
    } else {
      node = std::make_unique<Node>();
      node->word = token_;
      advance();
    }
    --depth_;
    return node;
  }

  static std::unique_ptr<Node> join(Kind kind, std::unique_ptr<Node> left,
                                    std::unique_ptr<Node> right) {
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->left = std::move(left);
    node->right = std::move(right);
    return node;
  }

  bool take(std::string_view word) {
    if (quoted_ || token_ != word) return false;
    advance();
    return true;
  }

  void advance() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
    start_ = position_;
    token_.clear();
    quoted_ = false;
    if (position_ == text_.size()) return;
    const char first = text_[position_];
    if (first == '"') {
      const auto end = text_.find('"', position_ + 1);
      if (end == std::string_view::npos) fail("missing closing quote");
      token_ = text_.substr(position_ + 1, end - position_ - 1);
      if (token_.empty()) fail("an empty word matches nothing");
      quoted_ = true;
      position_ = end + 1;
    } else if (first == '(' || first == ')') {
      token_ = first;
      ++position_;
    } else {
      const auto end = text_.find_first_of(" ()\"", position_);
      token_ = text_.substr(position_, end - position_);
      position_ = std::min(end, text_.size());
    }
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ExitCode::usage,
                "-k expression, column " + std::to_string(start_ + 1) + ": " + what);
  }

  std::string_view text_;
  std::size_t position_ = 0, start_ = 0;
  std::string token_;
  bool quoted_ = false;
  int depth_ = 0;
};

Filter::Filter(std::string_view expression) {
  if (expression.find_first_not_of(' ') != std::string_view::npos)
    root_ = Parser(expression).parse();
}

Filter::~Filter() = default;

bool Filter::matches(std::string_view case_text, std::string_view case_id) const {
  return !root_ || root_->matches(case_text, case_id);
}

}  // namespace opreplay
