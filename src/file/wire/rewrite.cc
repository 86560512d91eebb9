// Tested by tests/file/wire/rewrite_test.cc (compares with protobuf) and
// tests/file/wire/rewrite_property_test.cc (properties on random trees).
#include "file/wire/rewrite.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <stdexcept>
#include <unordered_map>

#include "file/wire/encoding.h"
#include "file/wire/field_reader.h"

namespace onnx_tag::wire {
namespace {

constexpr std::uint64_t kMaxNestedLength =
    std::numeric_limits<std::uint32_t>::max();

// Rule D of the header.
std::uint8_t WidthAfter(std::uint8_t width, std::uint64_t from,
                        std::uint64_t to) {
  const auto minimal = static_cast<std::uint8_t>(VarintSize(to));
  return width > VarintSize(from) && width >= minimal ? width : minimal;
}

// The size of a field that is removed or added.
std::uint32_t FieldSize(std::uint64_t size) {
  if (size > kMaxNestedLength) {
    throw std::logic_error("a field of more than 4 GiB");
  }
  return static_cast<std::uint32_t>(size);
}

// `size` minus the removed bytes plus the added bytes.
std::uint64_t Changed(std::uint64_t size, std::int64_t change) {
  const auto result = static_cast<std::int64_t>(size) + change;
  if (result < 0) {
    throw std::logic_error("more is erased from a message than it holds");
  }
  return static_cast<std::uint64_t>(result);
}

std::int64_t Difference(std::uint64_t to, std::uint64_t from) {
  return static_cast<std::int64_t>(to) - static_cast<std::int64_t>(from);
}

}  // namespace

Message MessageIn(Bytes file, const Field& field, MessageId parent) {
  return {.begin = OffsetIn(file, field.bytes),
          .size = field.bytes.size(),
          .parent = parent,
          .prefix_width = field.prefix_width};
}

Rewrite::Rewrite(Bytes file, std::span<const Message> tree)
    : file_(file), tree_(tree) {
  if (tree.empty() || tree[0].size != file.size()) {
    throw std::logic_error("the first message of the tree must be the file");
  }
}

void Rewrite::Erase(MessageId message, Bytes whole_field) {
  assert(!laid_out_ && message < tree_.size());
  const std::uint64_t begin = OffsetIn(file_, whole_field);
  if (!cuts_.empty()) {
    Cut& last = cuts_.back();
    if (begin < last.begin + last.size) {
      throw std::logic_error("fields must be erased in the order of the file");
    }
    // Our entries are adjacent, so all entries of a node are one cut.
    if (last.message == message && begin == last.begin + last.size &&
        last.size + whole_field.size() <= kMaxNestedLength) {
      last.size += static_cast<std::uint32_t>(whole_field.size());
      return;
    }
  }
  cuts_.push_back({begin, FieldSize(whole_field.size()), message});
}

void Rewrite::Append(MessageId message, std::uint64_t size,
                     std::uint64_t token) {
  assert(message < tree_.size());
  const Addition addition{token, message, FieldSize(size)};
  if (message == 0) {
    if (root_addition_) {
      throw std::logic_error("the file is appended to twice");
    }
    root_addition_ = addition;
    return;
  }
  if (laid_out_) throw std::logic_error("appended to after the layout");
  // Most messages get an addition. Reserved memory that is never used is free.
  if (additions_.empty()) additions_.reserve(tree_.size());
  additions_.push_back(addition);
}

void Rewrite::Insert(MessageId message, std::uint64_t offset,
                     std::uint64_t size, std::uint64_t token) {
  assert(!laid_out_ && message < tree_.size());
  if (message == 0 ||
      (!insertions_.empty() && offset < insertions_.back().first)) {
    throw std::logic_error("inserted into the file itself, or out of order");
  }
  insertions_.push_back({offset, {token, message, FieldSize(size)}});
}

void Rewrite::SetOriginalWidth(MessageId message, std::uint8_t width) {
  assert(!laid_out_);
  if (message == 0 || message >= tree_.size()) return;
  if (width == 0 || width > kMaxLengthWidth) return;
  original_widths_.push_back({message, width});
}

void Rewrite::SortEdits() {
  const auto by_message = [](const auto& a, const auto& b) {
    return a.message < b.message;
  };
  if (!std::is_sorted(additions_.begin(), additions_.end(), by_message)) {
    std::sort(additions_.begin(), additions_.end(), by_message);
  }
  for (std::size_t i = 1; i < additions_.size(); ++i) {
    if (additions_[i - 1].message == additions_[i].message) {
      throw std::logic_error("a message is appended to twice");
    }
  }
  // If a message has two records, the last one is used.
  std::stable_sort(original_widths_.begin(), original_widths_.end(),
                   by_message);
}

void Rewrite::Layout() {
  if (laid_out_) throw std::logic_error("Layout() is called twice");
  laid_out_ = true;
  SortEdits();
  lengths_.assign(tree_.size(), 0);
  widths_.assign(tree_.size(), 0);

  // First, lengths_ has the number of erased bytes of each message.
  std::uint64_t erased_of_root = 0;
  for (const Cut& cut : cuts_) {
    if (cut.message == 0) {
      erased_of_root += cut.size;
    } else {
      lengths_[cut.message] += cut.size;
    }
  }

  std::unordered_map<MessageId, std::int64_t> inserted;
  for (const auto& [offset, insertion] : insertions_) {
    inserted[insertion.message] += insertion.size;
  }

  // Children first, so that each parent adds final sizes. In this order, only
  // the ancestors of the current message have an unfinished sum. So a short
  // stack of sums is enough for a million messages.
  std::vector<Change> pending;
  auto addition = additions_.rbegin();
  auto recorded = original_widths_.rbegin();
  for (auto id = static_cast<MessageId>(tree_.size() - 1); id > 0; --id) {
    const Message& message = tree_[id];
    const std::uint32_t erased = lengths_[id];
    Change change;
    bool touched = erased != 0;
    if (!pending.empty() && pending.back().message == id) {
      change = pending.back();
      pending.pop_back();
      touched = true;
    }
    change.stripped -= erased;
    change.fresh -= erased;
    if (addition != additions_.rend() && addition->message == id) {
      change.fresh += addition->size;
      touched = true;
      ++addition;
    }
    if (const auto at = inserted.find(id); at != inserted.end()) {
      change.fresh += at->second;
      touched = true;
    }
    std::uint8_t original = 0;
    for (; recorded != original_widths_.rend() && recorded->message == id;
         ++recorded) {
      if (original == 0) original = recorded->width;
    }
    if (!touched && (original == 0 || original == message.prefix_width)) {
      continue;
    }

    const std::uint8_t width = message.prefix_width;
    const std::uint64_t stripped = Changed(message.size, change.stripped);
    const std::uint64_t fresh = Changed(message.size, change.fresh);
    if (original == 0) {
      original = WidthAfter(width, message.size, stripped);
    } else {
      // A damaged record must not make a prefix too narrow for its length.
      original =
          std::max(original, static_cast<std::uint8_t>(VarintSize(stripped)));
    }
    const std::uint8_t new_width = WidthAfter(original, stripped, fresh);
    if (WidthAfter(new_width, fresh, stripped) != original) {
      to_record_.push_back({id, original});
    }
    // Beyond 4 GiB the file cannot be written; only its whole size is needed.
    lengths_[id] =
        static_cast<std::uint32_t>(std::min(fresh, kMaxNestedLength));
    widths_[id] = new_width;

    if (pending.empty() || pending.back().message != message.parent) {
      pending.push_back({message.parent, 0, 0});
    }
    Change& around = pending.back();
    around.stripped += change.stripped + Difference(original, width);
    around.fresh += change.fresh + Difference(new_width, width);
  }
  std::reverse(to_record_.begin(), to_record_.end());

  std::int64_t root_change = -static_cast<std::int64_t>(erased_of_root);
  if (!pending.empty()) root_change += pending.back().fresh;
  size_without_root_addition_ = Changed(file_.size(), root_change);
}

std::uint64_t Rewrite::new_size() const {
  assert(laid_out_);
  return size_without_root_addition_ +
         (root_addition_ ? root_addition_->size : 0);
}

// Walks the old file from front to back. `at_` is the first byte that is not
// yet written to the sink. A span is written when an edit ends it.
class Rewrite::Writer {
 public:
  Writer(const Rewrite& rewrite, Sink& sink, const Generator& generate)
      : rewrite_(rewrite), sink_(sink), generate_(generate) {}

  void Run() {
    const std::span<const Message> tree = rewrite_.tree_;
    auto addition = rewrite_.additions_.begin();
    const auto additions_end = rewrite_.additions_.end();
    for (MessageId id = 1; id < tree.size(); ++id) {
      if (rewrite_.widths_[id] == 0) continue;
      const Message& message = tree[id];
      const std::uint64_t prefix = message.begin - message.prefix_width;
      CloseUpTo(prefix);
      if (rewrite_.lengths_[id] != message.size ||
          rewrite_.widths_[id] != message.prefix_width) {
        CopyUpTo(prefix);
        bytes_.clear();
        AppendPaddedVarint(bytes_, rewrite_.lengths_[id], rewrite_.widths_[id]);
        sink_.Write(bytes_);
        at_ = message.begin;
      }
      if (addition != additions_end && addition->message == id) {
        open_.push_back({message.begin + message.size, &*addition});
        ++addition;
      }
    }
    CloseUpTo(rewrite_.file_.size());
    CutUpTo(rewrite_.file_.size());
    CopyUpTo(rewrite_.file_.size());
    if (rewrite_.root_addition_) Generate(*rewrite_.root_addition_);
  }

 private:
  // A message with an addition at its end.
  struct Open {
    std::uint64_t end;
    const Addition* addition;
  };

  // Ends every open message that ends at or before `offset`, and skips the
  // erased fields before it.
  void CloseUpTo(std::uint64_t offset) {
    while (!open_.empty() && open_.back().end <= offset) {
      const Open open = open_.back();
      open_.pop_back();
      CutUpTo(open.end);
      // What is inserted behind this message belongs to one around it.
      CopyUpTo(open.end, open.addition->message);
      Generate(*open.addition);
    }
    CutUpTo(offset);
  }

  // Skips the erased fields before `offset`.
  void CutUpTo(std::uint64_t offset) {
    for (; next_cut_ < rewrite_.cuts_.size(); ++next_cut_) {
      const Cut& cut = rewrite_.cuts_[next_cut_];
      if (cut.begin >= offset) return;
      CopyUpTo(cut.begin);
      at_ = cut.begin + cut.size;
    }
  }

  // With what is inserted on the way, and at `offset` into `inside` and the
  // messages in it.
  void CopyUpTo(std::uint64_t offset, MessageId inside = 0) {
    const auto& insertions = rewrite_.insertions_;
    for (; next_insertion_ < insertions.size(); ++next_insertion_) {
      const auto& [place, insertion] = insertions[next_insertion_];
      if (place > offset || (place == offset && insertion.message < inside)) {
        break;
      }
      // It may be inside a cut of several fields.
      if (place > at_) CopySpan(place);
      Generate(insertion);
    }
    CopySpan(offset);
  }

  void CopySpan(std::uint64_t offset) {
    if (offset < at_) throw std::logic_error("an edit inside an erased field");
    if (offset > at_) sink_.Copy(at_, offset - at_);
    at_ = offset;
  }

  void Generate(const Addition& addition) {
    bytes_.clear();
    generate_(addition.token, bytes_);
    // The prefixes are already written. Another size would corrupt the file.
    if (bytes_.size() != addition.size) {
      throw std::logic_error("generated " + std::to_string(bytes_.size()) +
                             " bytes where " + std::to_string(addition.size) +
                             " were promised");
    }
    if (!bytes_.empty()) sink_.Write(bytes_);
  }

  const Rewrite& rewrite_;
  Sink& sink_;
  const Generator& generate_;
  std::uint64_t at_ = 0;
  std::size_t next_cut_ = 0;
  std::size_t next_insertion_ = 0;
  std::vector<Open> open_;
  std::string bytes_;
};

void Rewrite::Write(Sink& sink, const Generator& generate) const {
  assert(laid_out_);
  if (new_size() > kMaxNestedLength && tree_.size() > 1) {
    throw std::logic_error("the new file is larger than lengths can tell");
  }
  Writer(*this, sink, generate).Run();
}

}  // namespace onnx_tag::wire
