// Reads src/data/recipes.txt. It is our own file: what is wrong in it ends the
// build, with the line.
#include <charconv>

#include "base/text.h"
#include "book_maker/book_source.h"
#include "book_maker/book_words.h"
#include "onnx_tag/error.h"

namespace onnx_tag::recipes {
namespace {

class ItemReader {
 public:
  explicit ItemReader(std::string_view text) : rest_(text) {}

  Item ReadItem() {
    Item item;
    if (Consume('@')) {
      ReadCall(item);
    } else if (Peek() == '$') {
      item.kind = Item::Kind::kSide;
      item.expression.push_back(ReadSide());
    } else {
      ReadToken(item);
    }
    if (!rest_.empty()) Wrong();
    return item;
  }

  LateInput ReadLate() {
    LateInput late;
    late.token = ReadNumber();
    Expect('.');
    late.slot = ReadNumber();
    Expect('=');
    late.input = ReadNumber();
    if (!rest_.empty()) Wrong();
    return late;
  }

  std::vector<Reference> ReadOutputs() {
    std::vector<Reference> outputs = ReadInputs();
    if (!rest_.empty()) Wrong();
    return outputs;
  }

 private:
  char Peek() const { return rest_.empty() ? '\0' : rest_[0]; }

  bool Consume(char c) {
    if (Peek() != c || rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void Expect(char c) {
    if (!Consume(c)) Wrong();
  }

  [[noreturn]] void Wrong() const {
    Fail(ErrorKind::kInput, "cannot be read from '{}' on", rest_.substr(0, 40));
  }

  std::uint32_t ReadNumber() {
    std::uint32_t number = 0;
    const char* end = rest_.data() + rest_.size();
    const auto [at, error] = std::from_chars(rest_.data(), end, number);
    if (error != std::errc()) Wrong();
    rest_.remove_prefix(static_cast<std::size_t>(at - rest_.data()));
    return number;
  }

  // Up to a character that `ends` has.
  std::string_view ReadUntil(std::string_view ends) {
    const std::size_t size = std::min(rest_.find_first_of(ends), rest_.size());
    const std::string_view word = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return word;
  }

  Owner ReadOwner() {
    Owner owner;
    if (Consume('?')) {
      owner.known = false;
    } else if (Consume('^')) {
      owner.up = ReadNumber();
      while (Consume('.')) {
        owner.atoms.push_back(Unescaped(ReadUntil(".,()[]{}?!")));
      }
    }
    return owner;
  }

  SideExpression ReadSide() {
    Expect('$');
    SideExpression side;
    side.op = Unescaped(ReadUntil(",()[]{}?^"));
    side.owner = ReadOwner();
    if (Consume('(')) {
      side.inputs = ReadReferences();
      Expect(')');
    }
    return side;
  }

  Reference ReadReference() {
    Reference reference;
    if (Consume('_')) return reference;
    if (Consume('-')) {
      reference.kind = Reference::Kind::kBack;
      reference.number = ReadNumber();
      if (Consume(':')) reference.from_end = ReadNumber();
    } else if (Consume('^')) {
      reference.kind = Reference::Kind::kArgument;
      reference.number = ReadNumber();
    } else {
      reference.kind = Reference::Kind::kInline;
      reference.expression.push_back(ReadSide());
    }
    return reference;
  }

  std::vector<Reference> ReadReferences() {
    std::vector<Reference> references;
    if (Peek() == ']' || Peek() == ')') return references;
    do {
      references.push_back(ReadReference());
    } while (Consume(','));
    return references;
  }

  // In brackets, or nothing: what the item before made.
  std::vector<Reference> ReadInputs() {
    if (!Consume('[')) {
      Reference last;
      last.kind = Reference::Kind::kBack;
      last.number = 1;
      return {last};
    }
    std::vector<Reference> inputs = ReadReferences();
    Expect(']');
    return inputs;
  }

  void ReadToken(Item& item) {
    item.label = Unescaped(ReadUntil("/;!?[{"));
    while (Consume('/')) {
      if (Consume('*')) item.main = static_cast<std::uint32_t>(item.ops.size());
      item.ops.push_back(Unescaped(ReadUntil("/;!?[{")));
    }
    if (item.ops.empty()) item.ops.emplace_back(UsualOp(item.label));
    if (Consume(';')) item.extra = UnescapedExtra(ReadUntil("!?[{"));
    if (Consume('!')) {
      item.anchored = true;
      // Always known; a question mark here is the token's.
      if (Peek() == '^') item.anchor = ReadOwner();
    }
    item.known = !Consume('?');
    item.inputs = ReadInputs();
    if (!Consume('{')) return;
    do {
      item.sides.push_back(ReadTokenSide());
    } while (Consume(','));
    Expect('}');
  }

  TokenSide ReadTokenSide() {
    TokenSide side;
    side.slot = ReadNumber();
    if (Consume('.')) {
      side.node = side.slot;
      side.slot = ReadNumber();
    }
    Expect('=');
    side.value = ReadReference();
    return side;
  }

  void ReadCall(Item& item) {
    item.kind = Item::Kind::kCall;
    do {
      item.atoms.push_back(Unescaped(ReadUntil(". <")));
      item.containers.emplace_back(kUsualContainer);
      if (Consume('<')) {
        item.containers.back() = Unescaped(ReadUntil(">"));
        Expect('>');
      }
    } while (Consume('.'));
    item.containers.pop_back();
    Expect(' ');
    item.program = ReadUntil("[");
    item.inputs = ReadInputs();
  }

  std::string_view rest_;
};

std::vector<std::string_view> SplitItems(std::string_view text) {
  std::vector<std::string_view> items;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("  "), text.size());
    items.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return items;
}

BookRoot ReadRoot(std::string_view line) {
  const auto cells = Split(line.substr(2), '\t');
  if (cells.size() != 5) Fail(ErrorKind::kInput, "a root has five cells");
  BookRoot root;
  root.family = Unescaped(cells[0]);
  root.program = cells[1];
  root.outputs = ItemReader(cells[2]).ReadOutputs();
  for (const std::string_view note : Split(cells[3], ' ')) {
    if (note.empty()) continue;
    const std::size_t slash = note.find('/');
    if (slash == std::string_view::npos) {
      root.late.push_back(ItemReader(note).ReadLate());
      continue;
    }
    ModuleNote& made = root.notes.emplace_back();
    for (const std::string_view atom : Split(note.substr(0, slash), '.')) {
      made.atoms.push_back(Unescaped(atom));
    }
    made.class_name = Unescaped(note.substr(slash + 1));
  }
  for (const std::string_view maker : Split(cells[4], ' ')) {
    root.made_by.emplace_back(maker);
  }
  return root;
}

void ReadProgram(std::string_view line, BookSource& book) {
  const std::size_t tab = line.find('\t');
  const std::size_t mark = line.find('#');
  if (tab == std::string_view::npos || mark > tab) {
    Fail(ErrorKind::kInput, "a program has a name and a tab");
  }
  BookProgram& program = book.programs[std::string(line.substr(0, tab))];
  program.class_name = Unescaped(line.substr(0, mark));
  for (const std::string_view item : SplitItems(line.substr(tab + 1))) {
    program.items.push_back(ItemReader(item).ReadItem());
  }
}

}  // namespace

BookSource ReadBook(std::string_view text) {
  BookSource book;
  std::size_t number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    if (line.empty() || line.starts_with("# ")) continue;
    try {
      if (line.starts_with("= ")) {
        book.roots.push_back(ReadRoot(line));
      } else {
        ReadProgram(line, book);
      }
    } catch (const Error& error) {
      throw error.In(fmt::format("line {}", number));
    }
  }
  return book;
}

}  // namespace onnx_tag::recipes
