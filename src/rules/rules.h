// The user's own rules: the file given with --rules. docs/rules.md says what
// each part means, docs/rules.schema.json its form.
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

  // What must hold, all of it. The last looks at the module that a node would
  // get without it.
  std::optional<Pattern> op;
  std::optional<Pattern> name;       // of the node
  std::optional<Pattern> value;      // of one of its outputs
  std::optional<Pattern> parameter;  // of one of those it reads
  std::optional<Pattern> module;

  // What is then said; $1 is what the first `*` stands for.
  std::optional<std::string> gives_module;
  std::string gives_class;
  std::string gives_tag;
  std::optional<Role> gives_role;
  bool gives_layer = false;

  // Whether it speaks of modules, whatever nodes they have.
  bool OfModules() const {
    return module && !op && !name && !value && !parameter;
  }
};

// What a class holds: by path from it ("encoder", "layer.*"), the child's
// class.
struct AddedMember {
  Pattern path;
  std::string class_name;
};

struct Rules {
  std::string file;  // for messages
  std::vector<Rule> rules;
  std::map<std::string, std::vector<AddedMember>, std::less<>> classes;
  std::vector<std::string> exceptions;  // torch.nn classes that tags name, too
  std::string vocabulary;  // lines as in data/roles.txt, before ours
};

// Throws Error(kUsage) with line and column. `file` is for messages.
Rules ReadRules(std::string_view json, const std::string& file);

}  // namespace onnx_tag

#endif  // ONNX_TAG_RULES_RULES_H_
