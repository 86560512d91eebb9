#include "clues/recipes/book/packed_book.h"

#include <cstring>
#include <unordered_map>

#include "onnx_tag/error.h"

namespace onnx_tag::recipes {

// Runs the program of a root to make the recipe.
class Expander {
 public:
  Expander(const PackedBook& book, const RootRecord& root)
      : book_(book), texts_(book.text_ends_.size(), kNone), root_(root) {}

  Recipe Run() {
    Text(0);
    made_.tokens.reserve(root_.tokens);
    made_.side_nodes.reserve(root_.side_nodes);
    values_.reserve(root_.tokens + root_.side_nodes);
    made_.family = book_.Text(root_.family);
    made_.exporter = book_.Text(root_.exporter);
    made_.version = book_.Text(root_.version);
    made_.plain_code = (root_.traits & kHasPlainCode) != 0;
    made_.paddle_names = (root_.traits & kHasPaddleNames) != 0;
    made_.modules.push_back(
        {kNone, 0, Text(book_.program_classes_[root_.program])});
    // The program has no arguments. Outputs are counted from its end.
    Frame frame;
    RunProgram(root_.program, frame);
    Numbers rest{book_.root_data_.subspan(root_.data)};
    for (const Value value : ReadReferences(rest, frame)) {
      made_.outputs.push_back(value);
    }
    for (std::uint32_t left = rest.Next(); left > 0; --left) {
      const std::uint32_t module = ReadPath(rest, 0);
      made_.modules[module].class_name = Text(rest.Next());
    }
    for (std::uint32_t left = rest.Next(); left > 0; --left) {
      RecordedToken& token = made_.tokens[rest.Next()];
      std::uint32_t& input = token.inputs[rest.Next()];
      input = rest.Next();
    }
    return std::move(made_);
  }

 private:
  // A token, or a side node with the highest bit set.
  using Value = std::uint32_t;
  static constexpr Value kSideBit = 0x80000000;

  struct Numbers {
    std::span<const std::uint8_t> bytes;

    std::uint32_t Next() {
      std::uint32_t number = 0;
      for (unsigned shift = 0;; shift += 7) {
        const std::uint8_t byte = bytes.front();
        bytes = bytes.subspan(1);
        number |= static_cast<std::uint32_t>(byte & 0x7f) << shift;
        if (byte < 0x80) return number;
      }
    }
  };

  struct Frame {
    std::uint32_t module = 0;
    std::vector<Value> arguments;
    std::vector<std::uint32_t> ends;  // by item: in values_
  };

  void RunProgram(std::uint32_t program, Frame& frame) {
    const std::uint32_t begin = book_.program_starts_[program];
    const std::uint32_t end = book_.program_starts_[program + 1];
    Numbers code{book_.program_bytes_.subspan(begin, end - begin)};
    while (!code.bytes.empty()) {
      switch (code.Next()) {
        case kTokenItem:
          MakeToken(code, frame);
          break;
        case kSideItem:
          MakeSide(code, frame);
          break;
        default:
          Call(code, frame);
      }
      frame.ends.push_back(static_cast<std::uint32_t>(values_.size()));
    }
  }

  void MakeToken(Numbers& code, const Frame& frame) {
    RecordedToken token;
    SetKind(code.Next(), token);
    const std::uint32_t flags = code.Next();
    if ((flags & kIsKnown) != 0) token.module = frame.module;
    if ((flags & kIsAnchored) != 0) token.anchor = ReadOwner(code, frame);
    if ((flags & kReadsLast) != 0) {
      token.inputs.push_back(values_[frame.ends.back() - 1]);
    } else {
      token.inputs = ReadReferences(code, frame);
    }
    const std::uint32_t sides = (flags & kHasSides) != 0 ? code.Next() : 0;
    token.sides.reserve(sides);
    for (std::uint32_t i = 0; i < sides; ++i) {
      SideReference side;
      side.node = code.Next();
      side.slot = code.Next();
      side.side = ReadReference(code, frame) & ~kSideBit;
      token.sides.push_back(side);
    }
    values_.push_back(static_cast<Value>(made_.tokens.size()));
    made_.tokens.push_back(std::move(token));
  }

  void SetKind(std::uint32_t kind, RecordedToken& token) {
    Numbers code{book_.kind_bytes_.subspan(book_.kind_starts_[kind])};
    token.label = Text(code.Next());
    token.extra = Text(code.Next());
    token.main = code.Next();
    const std::uint32_t count = code.Next();
    token.ops.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      token.ops.push_back(Text(code.Next()));
    }
  }

  Value MakeSide(Numbers& code, const Frame& frame) {
    SideNode side;
    side.op = Text(code.Next());
    side.module = ReadOwner(code, frame);
    const std::uint32_t count = code.Next();
    side.inputs.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      const Value input = ReadReference(code, frame);
      side.inputs.push_back(input == kNone ? kNone : input & ~kSideBit);
    }
    const Value value = static_cast<Value>(made_.side_nodes.size()) | kSideBit;
    values_.push_back(value);
    made_.side_nodes.push_back(std::move(side));
    return value;
  }

  void Call(Numbers& code, const Frame& frame) {
    Frame inner;
    inner.module = frame.module;
    const std::uint32_t containers = code.Next();
    for (std::uint32_t i = 0; i < containers; ++i) {
      const std::uint32_t atom = code.Next();
      inner.module = Child(inner.module, atom);
      made_.modules[inner.module].class_name = Text(code.Next());
    }
    inner.module = Child(inner.module, code.Next());
    const std::uint32_t program = code.Next();
    made_.modules[inner.module].class_name =
        Text(book_.program_classes_[program]);
    inner.arguments = ReadReferences(code, frame);
    RunProgram(program, inner);
  }

  std::vector<Value> ReadReferences(Numbers& code, const Frame& frame) {
    std::vector<Value> values(code.Next());
    for (Value& value : values) value = ReadReference(code, frame);
    return values;
  }

  Value ReadReference(Numbers& code, const Frame& frame) {
    const std::uint32_t word = code.Next();
    const std::uint32_t number = word / 4;
    switch (word % 4) {
      case kRefersToLast:
        return values_[frame.ends[frame.ends.size() - number] - 1];
      case kRefersInside:
        return values_[frame.ends[frame.ends.size() - number] - 1 -
                       code.Next()];
      case kRefersOutside:
        return frame.arguments[number];
      default:
        return number == 0 ? kNone : MakeSide(code, frame);
    }
  }

  std::uint32_t ReadOwner(Numbers& code, const Frame& frame) {
    const std::uint32_t word = code.Next();
    if (word == 0) return frame.module;
    if (word == 1) return kNone;
    std::uint32_t module = frame.module;
    for (std::uint32_t up = word - 2; up > 0; --up) {
      module = made_.modules[module].parent;
    }
    return ReadPath(code, module);
  }

  std::uint32_t ReadPath(Numbers& code, std::uint32_t module) {
    for (std::uint32_t left = code.Next(); left > 0; --left) {
      module = Child(module, code.Next());
    }
    return module;
  }

  std::uint32_t Child(std::uint32_t module, std::uint32_t atom) {
    const auto [at, is_new] =
        children_.try_emplace(static_cast<std::uint64_t>(module) << 32 | atom,
                              static_cast<std::uint32_t>(made_.modules.size()));
    if (is_new) made_.modules.push_back({module, Text(atom), 0});
    return at->second;
  }

  std::uint32_t Text(std::uint32_t text) {
    if (texts_[text] == kNone) {
      texts_[text] = static_cast<std::uint32_t>(made_.texts.size());
      made_.texts.emplace_back(book_.Text(text));
    }
    return texts_[text];
  }

  const PackedBook& book_;
  std::vector<std::uint32_t> texts_;  // by text of the book: of the recipe
  const RootRecord& root_;
  Recipe made_;
  std::vector<Value> values_;  // all results, in order
  std::unordered_map<std::uint64_t, std::uint32_t> children_;
};

template <typename T>
std::span<const T> PackedBook::Part(BookPart part) const {
  BookHeader header;
  std::memcpy(&header, bytes_.data(), sizeof(header));
  const BookPartRange range = header.parts[static_cast<std::size_t>(part)];
  return {reinterpret_cast<const T*>(bytes_.data() + range.offset),
          range.count};
}

PackedBook::PackedBook(std::string_view bytes) : bytes_(bytes) {
  if (bytes.size() < sizeof(BookHeader) ||
      std::memcmp(bytes.data(), kBookMagic.data(), kBookMagic.size()) != 0) {
    Fail(ErrorKind::kInput, "not a packed recipe book");
  }
  text_bytes_ = Part<char>(BookPart::kTextBytes);
  text_ends_ = Part<std::uint32_t>(BookPart::kTextEnds);
  kind_bytes_ = Part<std::uint8_t>(BookPart::kKindBytes);
  kind_starts_ = Part<std::uint32_t>(BookPart::kKindStarts);
  program_bytes_ = Part<std::uint8_t>(BookPart::kProgramBytes);
  program_starts_ = Part<std::uint32_t>(BookPart::kProgramStarts);
  program_classes_ = Part<std::uint32_t>(BookPart::kProgramClasses);
  roots_ = Part<RootRecord>(BookPart::kRoots);
  root_data_ = Part<std::uint8_t>(BookPart::kRootData);
  grams_ = Part<std::uint32_t>(BookPart::kGrams);
  names_ = Part<std::uint32_t>(BookPart::kNames);
}

std::string_view PackedBook::Text(std::uint32_t text) const {
  const std::size_t begin = text == 0 ? 0 : text_ends_[text - 1];
  return {text_bytes_.data() + begin, text_ends_[text] - begin};
}

SummaryView PackedBook::Summary(std::size_t index) const {
  const RootRecord& root = roots_[index];
  return {grams_.subspan(root.first_gram, root.gram_count),
          names_.subspan(root.first_name, root.name_count)};
}

Recipe PackedBook::Read(std::size_t index) const {
  return Expander(*this, roots_[index]).Run();
}

}  // namespace onnx_tag::recipes
