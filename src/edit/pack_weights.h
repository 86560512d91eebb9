// Weights that lie in files of their own, put together in another one: a part
// of a model takes what it needs along.
#ifndef ONNX_TAG_EDIT_PACK_WEIGHTS_H_
#define ONNX_TAG_EDIT_PACK_WEIGHTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace onnx_tag::edit {

class WeightPacker {
 public:
  struct File {
    std::string path;
    std::uint64_t size;
  };
  // By the names that the model has for them.
  using Files = std::unordered_map<std::string_view, File>;
  // Bytes of a file, and where they stand in the new one.
  struct Piece {
    std::string_view path;
    std::uint64_t offset;
    std::uint64_t size;
    std::uint64_t at;
  };

  // `files` must outlive this. `location`: the new file, as models will name
  // it.
  WeightPacker(const Files& files, std::string location)
      : files_(files), location_(std::move(location)) {}

  // The tensor with its numbers in the new file, encoded; "" if it holds its
  // numbers itself, or they are in no file known here or past its end.
  std::string Move(Bytes tensor);

  const std::string& location() const { return location_; }
  // In the order of `at`.
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  // Where these bytes are in the new file; each piece is there once.
  std::uint64_t Place(const File& file, std::uint64_t offset,
                      std::uint64_t size);

  const Files& files_;
  std::string location_;
  std::vector<Piece> pieces_;
  std::map<std::pair<std::string_view, std::pair<std::uint64_t, std::uint64_t>>,
           std::uint64_t>
      places_;
};

}  // namespace onnx_tag::edit

#endif  // ONNX_TAG_EDIT_PACK_WEIGHTS_H_
