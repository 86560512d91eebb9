// The book as text.
#include <algorithm>

#include "book_maker/book_source.h"
#include "book_maker/book_words.h"
#include "onnx_tag/error.h"

namespace onnx_tag::recipes {
namespace {

void Print(const SideExpression& side, std::string& out);

void Print(const Owner& owner, std::string& out) {
  if (!owner.known) {
    out += '?';
    return;
  }
  if (owner.is_self()) return;
  out += fmt::format("^{}", owner.up);
  for (const std::string& atom : owner.atoms) out += '.' + Escaped(atom);
}

void Print(const Reference& reference, std::string& out) {
  switch (reference.kind) {
    case Reference::Kind::kNothing:
      out += '_';
      return;
    case Reference::Kind::kBack:
      out += fmt::format("-{}", reference.number);
      if (reference.from_end != 0) {
        out += fmt::format(":{}", reference.from_end);
      }
      return;
    case Reference::Kind::kArgument:
      out += fmt::format("^{}", reference.number);
      return;
    case Reference::Kind::kInline:
      Print(reference.expression[0], out);
      return;
  }
}

void Print(const std::vector<Reference>& references, std::string& out) {
  for (std::size_t i = 0; i < references.size(); ++i) {
    if (i != 0) out += ',';
    Print(references[i], out);
  }
}

void Print(const SideExpression& side, std::string& out) {
  out += '$' + Escaped(side.op);
  Print(side.owner, out);
  if (side.inputs.empty()) return;
  out += '(';
  Print(side.inputs, out);
  out += ')';
}

// Most items read just what the item before made.
bool IsUsual(const std::vector<Reference>& inputs) {
  return inputs.size() == 1 && inputs[0].kind == Reference::Kind::kBack &&
         inputs[0].number == 1 && inputs[0].from_end == 0;
}

void PrintInputs(const std::vector<Reference>& inputs, std::string& out) {
  if (IsUsual(inputs)) return;
  out += '[';
  Print(inputs, out);
  out += ']';
}

void PrintOps(const Item& item, std::string& out) {
  if (item.ops.size() == 1 && item.main == 0 &&
      item.ops[0] == UsualOp(item.label)) {
    return;
  }
  for (std::size_t i = 0; i < item.ops.size(); ++i) {
    out += item.main == i && item.ops.size() > 1 ? "/*" : "/";
    out += Escaped(item.ops[i]);
  }
}

void PrintToken(const Item& item, std::string& out) {
  out += Escaped(item.label);
  PrintOps(item, out);
  if (!item.extra.empty()) out += ';' + EscapedExtra(item.extra);
  if (item.anchored) {
    out += '!';
    Print(item.anchor, out);
  }
  if (!item.known) out += '?';
  PrintInputs(item.inputs, out);
  if (item.sides.empty()) return;
  out += '{';
  for (std::size_t i = 0; i < item.sides.size(); ++i) {
    const TokenSide& side = item.sides[i];
    if (i != 0) out += ',';
    if (side.node != 0) out += fmt::format("{}.", side.node);
    out += fmt::format("{}=", side.slot);
    Print(side.value, out);
  }
  out += '}';
}

void PrintCall(const Item& item, std::string& out) {
  out += '@';
  for (std::size_t i = 0; i < item.atoms.size(); ++i) {
    if (i != 0) out += '.';
    out += Escaped(item.atoms[i]);
    if (i < item.containers.size() && item.containers[i] != kUsualContainer) {
      out += '<' + Escaped(item.containers[i]) + '>';
    }
  }
  out += ' ' + item.program;
  PrintInputs(item.inputs, out);
}

void PrintRoot(const BookRoot& root, std::string& out) {
  out += "= " + Escaped(root.family) + '\t' + root.program + "\t[";
  Print(root.outputs, out);
  out += "]\t";
  for (const ModuleNote& note : root.notes) {
    for (const std::string& atom : note.atoms) out += Escaped(atom) + '.';
    out.back() = '/';
    out += Escaped(note.class_name) + ' ';
  }
  for (const LateInput& late : root.late) {
    out += fmt::format("{}.{}={} ", late.token, late.slot, late.input);
  }
  if (out.back() == ' ') out.pop_back();
  out += '\t';
  for (const std::string& maker : root.made_by) out += maker + ' ';
  out.back() = '\n';
}

}  // namespace

std::string PrintItems(const std::vector<Item>& items) {
  std::string out;
  for (const Item& item : items) {
    if (!out.empty()) out += "  ";
    switch (item.kind) {
      case Item::Kind::kToken:
        PrintToken(item, out);
        break;
      case Item::Kind::kSide:
        Print(item.expression[0], out);
        break;
      case Item::Kind::kCall:
        PrintCall(item, out);
        break;
    }
  }
  return out;
}

std::string PrintBook(const BookSource& book) {
  std::string out =
      "# The recipe book: programs of classes, then the models they make up.\n"
      "# docs/how/recipes-format.md describes it; made by distil_recipes from "
      "what\n"
      "# tools/book/record_recipes.py exports. Do not edit.\n";
  for (const auto& [name, program] : book.programs) {
    out += name + '\t' + PrintItems(program.items) + '\n';
  }
  std::vector<std::string> roots;
  for (const BookRoot& root : book.roots) PrintRoot(root, roots.emplace_back());
  std::sort(roots.begin(), roots.end());
  for (const std::string& root : roots) out += root;
  return out;
}

}  // namespace onnx_tag::recipes
