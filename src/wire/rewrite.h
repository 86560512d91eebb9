// Edits to nested messages of a file, applied without decoding the file.
//
// A field added to a node changes the length prefix of the node, of its graph
// and of everything around them; all other bytes stay as they are. A Rewrite
// takes the tree of nested messages and the edits, works out the new prefixes
// children first, and gives the new file as spans of the old one with new
// bytes between them:
//
//   Rewrite rewrite(file, tree);
//   rewrite.Erase(node, old_entry.whole);
//   rewrite.Append(node, size_of_new_entries, token);
//   rewrite.Layout();
//   if (rewrite.new_size() > limit) ...
//   rewrite.Write(sink, generate);
//
// New bytes are sized first and generated while writing: holding them would
// cost some 300 bytes a node. What is held is 5 bytes a message and 16 an edit.
//
// Padded prefixes. A writer may give a length more bytes than it needs, and
// undoing our edits must give back its very bytes. Three lengths matter of each
// message: as it stands, stripped (without the erased fields and without
// anything appended) and new. One rule, D(width, from, to), says how wide a
// prefix becomes when its length goes from `from` to `to`:
//
//   a padded prefix keeps its width as long as `to` fits; otherwise minimal.
//
//   original width = the recorded one, else D(width as it stands, as it
//                    stands, stripped)
//   new width      = D(original width, stripped, new)
//
// The new width depends on the original message only, never on what an earlier
// run made of it, so tagging twice is tagging once. Stripping makes new and
// stripped equal, and D(w, n, n) == w. Where the second line would not find the
// original width in the new file, WidthsToRecord() lists the message.
#ifndef ONNX_TAG_WIRE_REWRITE_H_
#define ONNX_TAG_WIRE_REWRITE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace onnx_tag::wire {

using MessageId = std::uint32_t;

// A message nested in the file.
struct Message {
  std::uint64_t begin = 0;  // of the payload, from the start of the file
  std::uint64_t size = 0;   // of the payload
  MessageId parent = 0;
  std::uint8_t prefix_width = 0;
};
static_assert(sizeof(Message) <= 24);

class Rewrite {
 public:
  // Where the new file goes, in order.
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

  // `tree` is in file order, a message before those inside it; tree[0] is the
  // file itself, which has no prefix. Both must outlive the Rewrite.
  Rewrite(Bytes file, std::span<const Message> tree);

  // Drops a field of `message`, given whole. Fields must be erased in the order
  // of the file, and hold no message of the tree.
  void Erase(MessageId message, Bytes whole_field);

  // Adds `size` bytes at the end of `message`, at most once for each. The file
  // itself may still be appended to after Layout(): no prefix depends on it,
  // and what WidthsToRecord() says has to go somewhere.
  void Append(MessageId message, std::uint32_t size, std::uint64_t token);

  // The width of the prefix before any run of ours, as an earlier run recorded
  // it. A width no length can have is ignored: the record may be damaged.
  void SetOriginalWidth(MessageId message, std::uint8_t width);

  // Works out the new sizes. Call once, after all edits.
  void Layout();

  // The following need Layout().

  // The bytes of the new file. Beyond 4 GiB it can be told, but not written.
  std::uint64_t new_size() const;

  // The messages whose original width the new file does not tell, in order.
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
  // What the edits inside a message do to its length.
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
  std::vector<Width> original_widths_;
  bool root_has_addition_ = false;
  Addition root_addition_{};

  bool laid_out_ = false;
  // By message. New length, and new width; 0 where nothing changes inside.
  std::vector<std::uint32_t> lengths_;
  std::vector<std::uint8_t> widths_;
  std::vector<Width> to_record_;
  std::uint64_t size_without_root_addition_ = 0;
};

}  // namespace onnx_tag::wire

#endif  // ONNX_TAG_WIRE_REWRITE_H_
