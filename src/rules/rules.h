// The user's own rules (--rules). docs/rules.md describes the meaning of each
// part, docs/rules.schema.json the format.
#ifndef ONNX_TAG_RULES_RULES_H_
#define ONNX_TAG_RULES_RULES_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/tagging.h"
#include "rules/pattern.h"

namespace onnx_tag {

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
  std::string vocabulary;  // lines as in data/roles.txt, with precedence
};

// Throws Error(kUsage) with line and column. `file` is for messages.
Rules ReadRules(std::string_view json, const std::string& file);

}  // namespace onnx_tag

#endif  // ONNX_TAG_RULES_RULES_H_
