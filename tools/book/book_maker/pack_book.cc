// Lays the book out as tables.
#include <cstring>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "book_maker/book_source.h"
#include "clues/recipes/book/packed_book.h"
#include "clues/recipes/book/recipe.h"
#include "onnx_tag/error.h"

namespace onnx_tag::recipes {
namespace {

template <typename T>
std::uint32_t Count(const T& items) {
  return static_cast<std::uint32_t>(items.size());
}

void Append(std::string& code, std::uint32_t number) {
  for (; number >= 0x80; number >>= 7) {
    code += static_cast<char>((number & 0x7f) | 0x80);
  }
  code += static_cast<char>(number);
}

// What the library of a model says about its recipe, from
// "transformers-5.22.2-BertModel-ts17".
std::uint32_t TraitsOf(const std::vector<std::string>& made_by) {
  if (made_by.empty()) return 0;
  const auto library = Split(made_by[0], '-')[0];
  // Our own examples belong to no library.
  if (library == "torch") return kHasPlainCode;
  if (library == "paddleocr2pytorch") return kHasPaddleNames;
  return 0;
}

// "transformers-5.22.2-BertModel-ts17", in words.
std::pair<std::string, std::string> ExporterAndVersion(
    const std::vector<std::string>& made_by) {
  if (made_by.empty()) return {};
  const auto parts = Split(made_by[0], '-');
  const std::string_view way = parts.back();
  std::string exporter(way);
  if (way == "dyn") exporter = "dynamo";
  if (way.starts_with("ts") || way.starts_with("st")) {
    exporter = "torchscript " + std::string(way.substr(2));
  }
  std::string version(parts[0]);
  if (parts.size() > 2) version += " " + std::string(parts[1]);
  return {exporter, version};
}

class BookPacker {
 public:
  explicit BookPacker(const BookSource& source) : source_(source) {
    Text("");
    for (const auto& [name, program] : source.programs) {
      program_ids_[name] = Count(program_ids_);
    }
  }

  std::string Run() {
    for (const auto& [name, program] : source_.programs) {
      starts_.push_back(Count(program_code_));
      classes_.push_back(Text(program.class_name));
      for (const Item& item : program.items) AddItem(item);
    }
    starts_.push_back(Count(program_code_));
    for (const BookRoot& root : source_.roots) AddRoot(root);
    // A recipe's summary is that of what the book makes of it.
    const std::string plain = Join();
    const PackedBook book(plain);
    for (std::size_t i = 0; i < roots_.size(); ++i) {
      const Recipe recipe = book.Read(i);
      const Summary summary = Summarize(recipe);
      roots_[i].tokens = Count(recipe.tokens);
      roots_[i].side_nodes = Count(recipe.side_nodes);
      std::tie(roots_[i].first_gram, roots_[i].gram_count) =
          AddSet(summary.grams, grams_);
      std::tie(roots_[i].first_name, roots_[i].name_count) =
          AddSet(summary.names, names_);
    }
    return Join();
  }

 private:
  using Hashes = std::vector<std::uint32_t>;

  // Roots of one kind often have the same set.
  std::pair<std::uint32_t, std::uint32_t> AddSet(const Hashes& set,
                                                 Hashes& all) {
    const auto [at, is_new] = sets_.try_emplace({&all, set}, Count(all));
    if (is_new) all.insert(all.end(), set.begin(), set.end());
    return {at->second, Count(set)};
  }

  std::uint32_t Text(const std::string& text) {
    const auto [at, is_new] = texts_.try_emplace(text, Count(texts_));
    if (is_new) {
      text_bytes_ += text;
      text_ends_.push_back(Count(text_bytes_));
    }
    return at->second;
  }

  std::uint32_t ProgramId(const std::string& name) const {
    const auto found = program_ids_.find(name);
    if (found == program_ids_.end()) {
      Fail(ErrorKind::kInput, "there is no program {}", name);
    }
    return found->second;
  }

  std::uint32_t Kind(const Item& item) {
    std::string code;
    Append(code, Text(item.label));
    Append(code, Text(item.extra));
    Append(code, item.main);
    Append(code, Count(item.ops));
    for (const std::string& op : item.ops) Append(code, Text(op));
    const auto [at, is_new] = kinds_.try_emplace(code, Count(kinds_));
    if (is_new) {
      kind_starts_.push_back(Count(kind_code_));
      kind_code_ += code;
    }
    return at->second;
  }

  void AddItem(const Item& item) {
    std::string& code = program_code_;
    switch (item.kind) {
      case Item::Kind::kToken:
        Append(code, kTokenItem);
        AddToken(item, code);
        break;
      case Item::Kind::kSide:
        Append(code, kSideItem);
        AddSide(item.expression[0], code);
        break;
      case Item::Kind::kCall:
        Append(code, kCallItem);
        Append(code, Count(item.containers));
        for (std::size_t i = 0; i < item.containers.size(); ++i) {
          Append(code, Text(item.atoms[i]));
          Append(code, Text(item.containers[i]));
        }
        Append(code, Text(item.atoms.back()));
        Append(code, ProgramId(item.program));
        AddReferences(item.inputs, code);
        break;
    }
  }

  void AddToken(const Item& item, std::string& code) {
    const bool reads_last = item.inputs.size() == 1 &&
                            item.inputs[0].kind == Reference::Kind::kBack &&
                            item.inputs[0].number == 1 &&
                            item.inputs[0].from_end == 0;
    Append(code, Kind(item));
    Append(code, (item.known ? kIsKnown : 0U) |
                     (item.anchored ? kIsAnchored : 0U) |
                     (reads_last ? kReadsLast : 0U) |
                     (item.sides.empty() ? 0U : kHasSides));
    if (item.anchored) AddOwner(item.anchor, code);
    if (!reads_last) AddReferences(item.inputs, code);
    if (item.sides.empty()) return;
    Append(code, Count(item.sides));
    for (const TokenSide& side : item.sides) {
      Append(code, side.node);
      Append(code, side.slot);
      AddReference(side.value, code);
    }
  }

  void AddSide(const SideExpression& side, std::string& code) {
    Append(code, Text(side.op));
    AddOwner(side.owner, code);
    AddReferences(side.inputs, code);
  }

  void AddOwner(const Owner& owner, std::string& code) {
    if (!owner.known || owner.is_self()) {
      Append(code, owner.known ? 0 : 1);
      return;
    }
    Append(code, 2 + owner.up);
    AddAtoms(owner.atoms, code);
  }

  void AddAtoms(const std::vector<std::string>& atoms, std::string& code) {
    Append(code, Count(atoms));
    for (const std::string& atom : atoms) Append(code, Text(atom));
  }

  void AddReferences(const std::vector<Reference>& references,
                     std::string& code) {
    Append(code, Count(references));
    for (const Reference& reference : references) {
      AddReference(reference, code);
    }
  }

  void AddReference(const Reference& reference, std::string& code) {
    switch (reference.kind) {
      case Reference::Kind::kNothing:
        Append(code, kRefersSpecially);
        break;
      case Reference::Kind::kBack:
        Append(code,
               reference.number * 4 +
                   (reference.from_end == 0 ? kRefersToLast : kRefersInside));
        if (reference.from_end != 0) Append(code, reference.from_end);
        break;
      case Reference::Kind::kArgument:
        Append(code, reference.number * 4 + kRefersOutside);
        break;
      case Reference::Kind::kInline:
        Append(code, 4 + kRefersSpecially);
        AddSide(reference.expression[0], code);
        break;
    }
  }

  void AddRoot(const BookRoot& root) {
    RootRecord record = {};
    record.traits = TraitsOf(root.made_by);
    record.family = Text(root.family);
    const auto [exporter, version] = ExporterAndVersion(root.made_by);
    record.exporter = Text(exporter);
    record.version = Text(version);
    record.program = ProgramId(root.program);
    record.data = Count(root_data_);
    AddReferences(root.outputs, root_data_);
    Append(root_data_, Count(root.notes));
    for (const ModuleNote& note : root.notes) {
      AddAtoms(note.atoms, root_data_);
      Append(root_data_, Text(note.class_name));
    }
    Append(root_data_, Count(root.late));
    for (const LateInput& late : root.late) {
      Append(root_data_, late.token);
      Append(root_data_, late.slot);
      Append(root_data_, late.input);
    }
    roots_.push_back(record);
  }

  template <typename T>
  void Write(BookPart part, const T& items) {
    while (bytes_.size() % 8 != 0) bytes_ += '\0';
    header_.parts[static_cast<std::size_t>(part)] = {Count(bytes_),
                                                     Count(items)};
    bytes_.append(reinterpret_cast<const char*>(items.data()),
                  items.size() * sizeof(items[0]));
  }

  std::string Join() {
    header_ = {};
    header_.magic = kBookMagic;
    bytes_.assign(sizeof(BookHeader), '\0');
    Write(BookPart::kTextBytes, text_bytes_);
    Write(BookPart::kTextEnds, text_ends_);
    Write(BookPart::kKindBytes, kind_code_);
    Write(BookPart::kKindStarts, kind_starts_);
    Write(BookPart::kProgramBytes, program_code_);
    Write(BookPart::kProgramStarts, starts_);
    Write(BookPart::kProgramClasses, classes_);
    Write(BookPart::kRoots, roots_);
    Write(BookPart::kRootData, root_data_);
    Write(BookPart::kGrams, grams_);
    Write(BookPart::kNames, names_);
    std::memcpy(bytes_.data(), &header_, sizeof(header_));
    return bytes_;
  }

  const BookSource& source_;
  std::unordered_map<std::string, std::uint32_t> program_ids_;
  std::unordered_map<std::string, std::uint32_t> texts_;
  std::string text_bytes_;
  std::vector<std::uint32_t> text_ends_;
  std::unordered_map<std::string, std::uint32_t> kinds_;
  std::string kind_code_;
  std::vector<std::uint32_t> kind_starts_;
  std::string program_code_;
  std::vector<std::uint32_t> starts_;
  std::vector<std::uint32_t> classes_;
  std::vector<RootRecord> roots_;
  std::string root_data_;
  Hashes grams_;
  Hashes names_;
  std::map<std::pair<const Hashes*, Hashes>, std::uint32_t> sets_;
  BookHeader header_ = {};
  std::string bytes_;
};

}  // namespace

std::string PackBook(const BookSource& source) {
  return BookPacker(source).Run();
}

}  // namespace onnx_tag::recipes
