// Lists of numbers, one list for each number: the readers of a node, say.
#ifndef ONNX_TAG_STRUCTURE_EDGES_H_
#define ONNX_TAG_STRUCTURE_EDGES_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace onnx_tag::structure {

class Edges {
 public:
  Edges() : first_(1, 0) {}

  // Lists are added in their order.
  void Push(std::uint32_t to) { to_.push_back(to); }
  void End() { first_.push_back(static_cast<std::uint32_t>(to_.size())); }

  std::span<const std::uint32_t> operator[](std::size_t from) const {
    return {to_.data() + first_[from], first_[from + 1] - first_[from]};
  }
  std::size_t size() const { return first_.size() - 1; }

  // The same edges, from their other ends; each list ascends.
  Edges Reversed(std::size_t size) const {
    Edges result;
    result.first_.assign(size + 1, 0);
    for (const std::uint32_t to : to_) ++result.first_[to + 1];
    for (std::size_t i = 0; i < size; ++i) {
      result.first_[i + 1] += result.first_[i];
    }
    result.to_.resize(to_.size());
    std::vector<std::uint32_t> next(result.first_.begin(),
                                    result.first_.end() - 1);
    for (std::size_t from = 0; from < this->size(); ++from) {
      for (const std::uint32_t to : (*this)[from]) {
        result.to_[next[to]++] = static_cast<std::uint32_t>(from);
      }
    }
    return result;
  }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> to_;
};

}  // namespace onnx_tag::structure

#endif  // ONNX_TAG_STRUCTURE_EDGES_H_
