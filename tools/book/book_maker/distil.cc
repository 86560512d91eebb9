#include "book_maker/distil.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "book_maker/book_words.h"
#include "book_maker/call_frames.h"
#include "onnx_tag/error.h"
#include "onnx_tag/interner.h"

namespace onnx_tag::recipes {
namespace {

// Tokens and side nodes in one numbering.
using Entity = std::uint32_t;
constexpr Entity kSideBit = 0x80000000;

// A program in the making.
struct Draft {
  std::uint32_t module = 0;
  std::vector<Item> items;
  std::vector<Entity> arguments;
  std::vector<Entity> made;  // in order
  // Where each was made: the item, and how many this made up to it.
  struct Where {
    std::uint32_t item = 0;
    std::uint32_t count = 0;
  };
  std::unordered_map<Entity, Where> where;
  std::vector<std::uint32_t> sizes;  // by item: how many it made
};

template <typename T>
std::uint32_t Count(const std::vector<T>& items) {
  return static_cast<std::uint32_t>(items.size());
}

class Distiller {
 public:
  Distiller(const Recipe& recipe, BookSource& book)
      : recipe_(recipe),
        frames_(recipe),
        book_(book),
        uses_(recipe.side_nodes.size()),
        told_(recipe.modules.size(), false) {
    CountUses();
    GroupSides();
  }

  BookRoot Run() {
    told_[0] = true;
    Draft draft = MakeFrame(0);
    BookRoot root;
    root.family = recipe_.family;
    for (const std::uint32_t output : recipe_.outputs) {
      root.outputs.push_back(Refer(draft, output));
    }
    root.program = Name(draft);
    root.late = std::move(late_);
    for (std::uint32_t i = 0; i < told_.size(); ++i) {
      if (!told_[i]) root.notes.push_back({Atoms(0, i), ClassOf(i)});
    }
    std::sort(root.notes.begin(), root.notes.end());
    return root;
  }

 private:
  using Slot = std::pair<std::uint32_t, std::uint32_t>;  // frame, token

  void CountUses() {
    for (const SideNode& side : recipe_.side_nodes) {
      for (const std::uint32_t input : side.inputs) {
        if (input != kNone) ++uses_[input];
      }
    }
    for (const RecordedToken& token : recipe_.tokens) {
      for (const SideReference& reference : token.sides) {
        ++uses_[reference.side];
      }
    }
  }

  void GroupSides() {
    const auto& places = frames_.side_places();
    for (std::uint32_t i = 0; i < places.size(); ++i) {
      by_slot_[{places[i].frame, places[i].before}].push_back(i);
    }
    inlined_.assign(places.size(), false);
    // A node that one other reads, made at the same place, is written there.
    for (std::uint32_t i = 0; i < places.size(); ++i) {
      for (const std::uint32_t input : recipe_.side_nodes[i].inputs) {
        if (input != kNone && uses_[input] == 1 && places[input] == places[i]) {
          inlined_[input] = true;
        }
      }
    }
    for (std::uint32_t i = 0; i < recipe_.tokens.size(); ++i) {
      for (const SideReference& reference : recipe_.tokens[i].sides) {
        const std::uint32_t side = reference.side;
        if (uses_[side] == 1 &&
            places[side] == SidePlace{frames_.FrameOf(i), i, kNone}) {
          inlined_[side] = true;
        }
      }
    }
  }

  Draft MakeFrame(std::uint32_t id) {
    const Frame& frame = frames_.frames()[id];
    Draft draft;
    draft.module = frame.module;
    for (const Frame::Part& part : frame.parts) {
      AddSides(draft, {id, part.first_token});
      if (part.token != kNone) {
        AddToken(draft, part.token);
      } else {
        AddCall(draft, MakeFrame(part.frame));
      }
    }
    return draft;
  }

  void AddSides(Draft& draft, const Slot& slot) {
    const auto found = by_slot_.find(slot);
    if (found == by_slot_.end()) return;
    const std::vector<std::uint32_t>& sides = found->second;
    for (std::size_t i = 0; i < sides.size();) {
      const std::uint32_t called = frames_.side_places()[sides[i]].called;
      if (called == kNone) {
        if (!inlined_[sides[i]]) AddSide(draft, sides[i]);
        ++i;
        continue;
      }
      Draft inner;
      inner.module = called;
      while (i < sides.size() &&
             frames_.side_places()[sides[i]].called == called) {
        if (!inlined_[sides[i]]) AddSide(inner, sides[i]);
        ++i;
      }
      if (!inner.items.empty()) AddCall(draft, std::move(inner));
    }
  }

  void AddSide(Draft& draft, std::uint32_t side) {
    Item item;
    item.kind = Item::Kind::kSide;
    item.expression.push_back(Express(draft, side));
    Push(draft, std::move(item));
  }

  SideExpression Express(Draft& draft, std::uint32_t side) {
    const SideNode& node = recipe_.side_nodes[side];
    SideExpression made;
    made.op = recipe_.texts[node.op];
    made.owner = OwnerOf(draft, node.module);
    for (const std::uint32_t input : node.inputs) {
      made.inputs.push_back(ReferToSide(draft, input));
    }
    pending_.push_back(side | kSideBit);
    return made;
  }

  Reference ReferToSide(Draft& draft, std::uint32_t side) {
    if (side == kNone) return {};
    if (!inlined_[side]) return Refer(draft, side | kSideBit);
    Reference reference;
    reference.kind = Reference::Kind::kInline;
    reference.expression.push_back(Express(draft, side));
    return reference;
  }

  void AddToken(Draft& draft, std::uint32_t id) {
    const RecordedToken& token = recipe_.tokens[id];
    Item item;
    item.label = recipe_.texts[token.label];
    item.extra = recipe_.texts[token.extra];
    for (const std::uint32_t op : token.ops) {
      item.ops.push_back(recipe_.texts[op]);
    }
    item.main = token.main;
    item.known = token.module != kNone;
    if (token.anchor != kNone) {
      item.anchored = true;
      item.anchor = OwnerOf(draft, token.anchor);
    }
    for (const std::uint32_t input : token.inputs) {
      if (input > id) {
        late_.push_back({id, Count(item.inputs), input});
        item.inputs.emplace_back();
      } else {
        item.inputs.push_back(Refer(draft, input));
      }
    }
    for (const SideReference& reference : token.sides) {
      item.sides.push_back(
          {reference.node, reference.slot, ReferToSide(draft, reference.side)});
    }
    pending_.push_back(id);
    Push(draft, std::move(item));
  }

  void AddCall(Draft& draft, Draft inner) {
    Item item;
    item.kind = Item::Kind::kCall;
    item.atoms = Atoms(draft.module, inner.module);
    for (std::uint32_t at = inner.module; at != draft.module;
         at = recipe_.modules[at].parent) {
      told_[at] = true;
      if (at != inner.module) {
        item.containers.insert(item.containers.begin(), ClassOf(at));
      }
    }
    for (const Entity argument : inner.arguments) {
      item.inputs.push_back(Refer(draft, argument));
    }
    item.program = Name(inner);
    pending_ = std::move(inner.made);
    Push(draft, std::move(item));
  }

  // The item made what is pending.
  void Push(Draft& draft, Item item) {
    const std::uint32_t number = Count(draft.items);
    std::uint32_t count = 0;
    for (const Entity entity : pending_) {
      draft.where[entity] = {number, ++count};
      draft.made.push_back(entity);
    }
    pending_.clear();
    draft.sizes.push_back(count);
    draft.items.push_back(std::move(item));
  }

  Reference Refer(Draft& draft, Entity entity) {
    Reference reference;
    const auto found = draft.where.find(entity);
    if (found != draft.where.end()) {
      const auto [item, count] = found->second;
      reference.kind = Reference::Kind::kBack;
      reference.number = Count(draft.items) - item;
      reference.from_end = draft.sizes[item] - count;
      return reference;
    }
    reference.kind = Reference::Kind::kArgument;
    auto at = std::find(draft.arguments.begin(), draft.arguments.end(), entity);
    reference.number = static_cast<std::uint32_t>(at - draft.arguments.begin());
    if (at == draft.arguments.end()) draft.arguments.push_back(entity);
    return reference;
  }

  std::string ClassOf(std::uint32_t module) const {
    return recipe_.texts[recipe_.modules[module].class_name];
  }

  std::vector<std::string> Atoms(std::uint32_t from, std::uint32_t to) const {
    std::vector<std::string> atoms;
    for (; to != from; to = recipe_.modules[to].parent) {
      atoms.insert(atoms.begin(), recipe_.texts[recipe_.modules[to].atom]);
    }
    return atoms;
  }

  Owner OwnerOf(const Draft& draft, std::uint32_t module) const {
    Owner owner;
    if (module == kNone) {
      owner.known = false;
      return owner;
    }
    const std::uint32_t common = frames_.Common(draft.module, module);
    owner.up = frames_.depth(draft.module) - frames_.depth(common);
    owner.atoms = Atoms(common, module);
    return owner;
  }

  // A name that depends on nothing but class and text, so that what is added
  // to the book changes nothing that is there.
  std::string Name(const Draft& draft) {
    const std::string class_name = ClassOf(draft.module);
    const std::string text = PrintItems(draft.items);
    const std::string hash = fmt::format("{:016x}", HashBytes(text));
    for (std::size_t digits = 5;; ++digits) {
      const std::string name =
          Escaped(class_name) + '#' + hash.substr(0, digits);
      const auto [at, is_new] = book_.programs.try_emplace(name);
      if (is_new) at->second = {class_name, draft.items};
      if (is_new || PrintItems(at->second.items) == text) return name;
      if (digits == hash.size()) Fail(ErrorKind::kInput, "two texts, one hash");
    }
  }

  const Recipe& recipe_;
  const Frames frames_;
  BookSource& book_;
  std::vector<std::uint32_t> uses_;  // by side node
  std::vector<bool> inlined_;        // by side node
  std::map<Slot, std::vector<std::uint32_t>> by_slot_;
  std::vector<bool> told_;       // by module: a call says its class
  std::vector<Entity> pending_;  // what the item at hand makes
  std::vector<LateInput> late_;
};

std::string KeyOf(const BookRoot& root) {
  BookRoot plain = root;
  plain.made_by = {"x"};
  BookSource book;
  book.roots.push_back(std::move(plain));
  return PrintBook(book);
}

}  // namespace

void Distil(const Recipe& recipe, std::string_view made_by, BookSource& book) {
  BookRoot root = Distiller(recipe, book).Run();
  const std::string key = KeyOf(root);
  for (BookRoot& known : book.roots) {
    if (known.family != root.family || known.program != root.program ||
        KeyOf(known) != key) {
      continue;
    }
    known.made_by.emplace_back(made_by);
    std::sort(known.made_by.begin(), known.made_by.end());
    return;
  }
  root.made_by = {std::string(made_by)};
  book.roots.push_back(std::move(root));
}

}  // namespace onnx_tag::recipes
