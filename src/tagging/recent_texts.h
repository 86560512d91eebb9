// The texts of the ids that were asked for last. Nodes of one module follow
// each other, so nearly all texts are made once; the texts of all modules of a
// large model would be hundreds of megabytes.
#ifndef ONNX_TAG_TAGGING_RECENT_TEXTS_H_
#define ONNX_TAG_TAGGING_RECENT_TEXTS_H_

#include <string>
#include <vector>

#include "base/ids.h"

namespace onnx_tag {

template <typename Id>
class RecentTexts {
 public:
  // `append(text)` makes the text of `id`. The result is valid until the next
  // call.
  template <typename Append>
  const std::string& Of(Id id, Append append) {
    Kept& kept = kept_[Index(id) % kept_.size()];
    if (kept.id != id) {
      kept.id = kNo<Id>;
      kept.text.clear();
      append(kept.text);
      kept.id = id;
    }
    return kept.text;
  }

 private:
  struct Kept {
    Id id = kNo<Id>;
    std::string text;
  };
  std::vector<Kept> kept_ = std::vector<Kept>(1024);
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_TAGGING_RECENT_TEXTS_H_
