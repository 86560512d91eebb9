// Edits to nested messages of a file, applied without decoding the file.
//
// A field added to a node changes the length prefix of the node, of its graph
// and of all enclosing messages. All other bytes stay the same. A Rewrite takes
// the tree of nested messages and the edits, computes the new prefixes
// (children first), and describes the new file as spans of the old file with
// new bytes between them:
//
//   Rewrite rewrite(file, tree);
//   rewrite.Erase(node, old_entry.whole);
//   rewrite.Append(node, size_of_new_entries, token);
//   rewrite.Layout();
//   if (rewrite.new_size() > limit) ...
//   rewrite.Write(sink, generate);
//
// New bytes are measured first and generated during writing, because storing
// them would need about 300 bytes per node. A Rewrite stores 5 bytes per
// message and 16 per edit.
//
// Padded prefixes. A writer may use more bytes for a length than necessary.
// After our edits are undone, the file must have the original bytes again. Each
// message has three lengths: current (in the file), stripped (without the
// erased fields and without additions) and new. One rule, D(width, from, to),
// gives the width of a prefix if its length changes from `from` to `to`:
//
//   If `to` fits, a padded prefix keeps its width. Else the width is minimal.
//
//   original width = the recorded width, else D(current width, current length,
//                    stripped length)
//   new width      = D(original width, stripped length, new length)
//
// The new width depends only on the original message, not on an earlier run. So
// tagging twice gives the same result as tagging once. After stripping, the new
// length is the stripped length, and D(w, n, n) == w. If this computation would
// not find the original width in the new file, WidthsToRecord() lists the
// message.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "onnx_tag/bytes.h"

namespace onnx_tag::wire {

// The message that `field` of `file` holds.
struct Field;
Message MessageIn(Bytes file, const Field& field, MessageId parent);

class Rewrite {
 public:
  // Receives the new file in order.
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void Copy(std::uint64_t offset, std::uint64_t size) = 0;
    virtual void Write(Bytes bytes) = 0;
  };

  // Appends the bytes promised for `token` to `out`.
  using Generator = std::function<void(std::uint64_t token, std::string& out)>;

  struct Width {
    MessageId message;
    std::uint8_t width;
    bool operator==(const Width&) const = default;
  };

  // `tree` is in file order; a message precedes the messages inside it. tree[0]
  // is the file itself and has no prefix. Both must outlive the Rewrite.
  Rewrite(Bytes file, std::span<const Message> tree);

  // Removes a field of `message`. `whole_field` includes its tag and length.
  // Fields must be erased in file order and must not contain a message of the
  // tree.
  void Erase(MessageId message, Bytes whole_field);

  // Adds `size` bytes, less than 4 GiB, at the end of `message`, at most once
  // per message. For the file itself this is also allowed after Layout(),
  // because no prefix depends on it and WidthsToRecord() must be stored.
  void Append(MessageId message, std::uint64_t size, std::uint64_t token);

  // Adds `size` bytes to `message`, not to the file itself, at `offset` in the
  // file: between two of its fields, and in place of one that ends there and is
  // erased. Bytes must be inserted in file order.
  void Insert(MessageId message, std::uint64_t offset, std::uint64_t size,
              std::uint64_t token);

  // The width of the prefix before the first tagging, as an earlier run
  // recorded it. An impossible width is ignored, because the record may be
  // damaged.
  void SetOriginalWidth(MessageId message, std::uint8_t width);

  // Computes the new sizes. Call once, after all edits.
  void Layout();

  // The following need Layout().

  // The size of the new file. A file beyond 4 GiB cannot be written.
  std::uint64_t new_size() const;

  // The messages whose original width cannot be computed from the new file, in
  // order.
  const std::vector<Width>& WidthsToRecord() const { return to_record_; }

  void Write(Sink& sink, const Generator& generate) const;

 private:
  struct Cut {
    std::uint64_t begin;
    std::uint32_t size;
    MessageId message;
  };
  struct Addition {
    std::uint64_t token;
    MessageId message;
    std::uint32_t size;
  };
  // The change of a message's length by the edits inside it.
  struct Change {
    MessageId message = 0;
    std::int64_t stripped = 0;
    std::int64_t fresh = 0;
  };

  void SortEdits();
  class Writer;

  Bytes file_;
  std::span<const Message> tree_;
  std::vector<Cut> cuts_;
  std::vector<Addition> additions_;
  std::vector<std::pair<std::uint64_t, Addition>> insertions_;  // by offset
  std::vector<Width> original_widths_;
  std::optional<Addition> root_addition_;

  bool laid_out_ = false;
  // By message: new length and new width; 0 if nothing inside changes.
  std::vector<std::uint32_t> lengths_;
  std::vector<std::uint8_t> widths_;
  std::vector<Width> to_record_;
  std::uint64_t size_without_root_addition_ = 0;
};

}  // namespace onnx_tag::wire
