// Questions about all items of a list, as <algorithm> has them for iterators.
// No std::ranges: the page is compiled with a library that lacks it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>

namespace onnx_tag {

template <typename List, typename Is>
bool AnyIn(const List& list, const Is& is) {
  return std::any_of(std::begin(list), std::end(list), is);
}

template <typename List, typename Is>
bool AllIn(const List& list, const Is& is) {
  return std::all_of(std::begin(list), std::end(list), is);
}

template <typename List, typename Is>
std::size_t CountIn(const List& list, const Is& is) {
  return static_cast<std::size_t>(
      std::count_if(std::begin(list), std::end(list), is));
}

template <typename Item, typename List>
bool IsAmong(const Item& item, const List& list) {
  return std::find(std::begin(list), std::end(list), item) != std::end(list);
}

// In the order of `key(item)`, or of the items' member `key`; equal ones keep
// their order.
template <typename List, typename Key>
void SortBy(List& list, const Key& key) {
  std::stable_sort(std::begin(list), std::end(list),
                   [&](const auto& a, const auto& b) {
                     return std::invoke(key, a) < std::invoke(key, b);
                   });
}

// In ascending order, each item once.
template <typename List>
void SortUnique(List& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace onnx_tag
