// Dense ids that index vectors: `enum class NodeId : uint32_t {}`.
#pragma once

#include <cstddef>
#include <limits>
#include <type_traits>
#include <vector>

namespace onnx_tag {

template <typename Id>
constexpr std::size_t Index(Id id) {
  static_assert(std::is_enum_v<Id>);
  return static_cast<std::size_t>(id);
}

template <typename Id>
constexpr Id MakeId(std::size_t index) {
  return static_cast<Id>(static_cast<std::underlying_type_t<Id>>(index));
}

// The null id.
template <typename Id>
constexpr Id kNo =
    static_cast<Id>(std::numeric_limits<std::underlying_type_t<Id>>::max());

// A vector indexed by an id. A wrong kind of id does not compile.
template <typename Id, typename T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(std::size_t size, const T& value = T())
      : items_(size, value) {}

  Id Add(T item) {
    items_.push_back(std::move(item));
    return MakeId<Id>(items_.size() - 1);
  }

  decltype(auto) operator[](Id id) { return items_[Index(id)]; }
  decltype(auto) operator[](Id id) const { return items_[Index(id)]; }
  // The item of an id that may be new: those up to it get `value`.
  decltype(auto) Grown(Id id, const T& value = T()) {
    if (Index(id) >= items_.size()) items_.resize(Index(id) + 1, value);
    return items_[Index(id)];
  }
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  void resize(std::size_t size, const T& value = T()) {
    items_.resize(size, value);
  }
  void reserve(std::size_t size) { items_.reserve(size); }
  void shrink_to_fit() { items_.shrink_to_fit(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::vector<T> items_;
};

// The end of a range that is its own iterator and knows when it is over.
struct EndOfRange {};

// for (NodeId id : AllIds<NodeId>(count))
template <typename Id>
class AllIds {
 public:
  explicit AllIds(std::size_t count) : count_(count) {}
  class Iterator {
   public:
    explicit Iterator(std::size_t at) : at_(at) {}
    Id operator*() const { return MakeId<Id>(at_); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    std::size_t at_;
  };
  Iterator begin() const { return Iterator(0); }
  Iterator end() const { return Iterator(count_); }

 private:
  std::size_t count_;
};

}  // namespace onnx_tag
