// What the two readers of recordings share: lists and objects of JSON whose
// items a function takes.
#pragma once

#include <cstdint>
#include <string_view>

#include "file/json/reader.h"

namespace onnx_tag {

class Rows {
 protected:
  explicit Rows(std::string_view text) : json_(text) {}

  bool IsNext(json::Kind kind) const { return json_.Peek() == kind; }

  // Runs `use` for every item of a list; `use` takes the item.
  template <typename Use>
  void ForEachItem(const Use& use) {
    json_.BeginArray();
    while (json_.NextItem()) use();
  }

  // Runs `use(key)` for every member of an object; `use` takes the value.
  template <typename Use>
  void ForEachMember(const Use& use) {
    std::string_view key;
    json_.BeginObject();
    while (json_.NextMember(key)) use(key);
  }

  // A size of a tensor; -1 if it is not known.
  std::int64_t Size() {
    const double size = json_.Number();
    return size >= 0 && size < 1e15 ? static_cast<std::int64_t>(size) : -1;
  }

  json::Reader json_;
};

}  // namespace onnx_tag
