// The user's own rules (--rules). docs/reference/rules.md describes the meaning
// of each part, docs/reference/schemas/rules.schema.json the format.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/glob.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

// The patterns of rules: `*` matches any text without a dot or slash, `**` any
// text, `?` one character that is neither a dot nor a slash.
class Pattern {
 public:
  explicit Pattern(std::string_view text);

  const std::string& text() const { return text_; }

  // The number of `*` and `**`.
  std::size_t captures() const { return captures_; }

  bool Matches(std::string_view text) const {
    return MatchesPattern(text_, text, "./");
  }

  // The same; what each `*` and `**` matches is added to `captures`. Views of
  // `text`.
  bool Matches(std::string_view text,
               std::vector<std::string_view>& captures) const {
    return MatchesPattern(text_, text, "./", &captures);
  }

 private:
  std::string text_;
  std::size_t captures_ = 0;
};

// Replaces $1 to $9 in `text` by the captures, and $$ by a dollar sign.
std::string FillIn(std::string_view text,
                   const std::vector<std::string_view>& captures);

// The highest capture that `text` uses; -1 if a dollar sign is followed by
// another character.
int HighestCapture(std::string_view text);

struct Rule {
  std::string title;    // "rule \"heads\" (line 3)", for people
  std::string because;  // "the rule ... of rules.json"

  // The conditions; all must be true. `module` is compared with the module that
  // the node gets without this rule.
  std::optional<Pattern> op;
  std::optional<Pattern> name;       // of the node
  std::optional<Pattern> value;      // of one of its outputs
  std::optional<Pattern> parameter;  // of one of the parameters it reads
  std::optional<Pattern> module;

  // The results; $1 is the text that the first `*` matched.
  std::optional<std::string> gives_module;
  std::string gives_class;
  std::string gives_tag;
  std::optional<Role> gives_role;
  bool gives_layer = false;

  // Whether the rule applies to modules, also to modules without nodes.
  bool OfModules() const {
    return module && !op && !name && !value && !parameter;
  }
};

// An attribute of a class: its path ("encoder", "layer.*") and its class.
struct AddedMember {
  Pattern path;
  std::string class_name;
};

struct Rules {
  std::string file;  // for messages
  std::vector<Rule> rules;
  std::map<std::string, std::vector<AddedMember>, std::less<>> classes;
  std::vector<std::string> exceptions;  // more torch.nn classes kept in tags
  std::string vocabulary;  // lines as in src/data/roles.txt, with precedence
};

// Throws Error(kUsage) with line and column. `file` is for messages.
Rules ReadRules(std::string_view json, const std::string& file);

}  // namespace onnx_tag
