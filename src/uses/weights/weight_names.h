// The names of parameters that only a class or a place tells:
// data/weight_names.txt.
#ifndef ONNX_TAG_USES_WEIGHTS_WEIGHT_NAMES_H_
#define ONNX_TAG_USES_WEIGHTS_WEIGHT_NAMES_H_

#include <span>
#include <string_view>
#include <vector>

namespace onnx_tag::weights {

class WeightNames {
 public:
  static const WeightNames& BuiltIn();

  // Whether modules of this class seldom have a weight of their own.
  bool HoldsOthers(std::string_view class_name) const;
  // The name of the parameter at `place`; "" if no row fits.
  std::string_view At(std::string_view place,
                      std::string_view class_name) const;
  // The attributes of "query", "key" or "value".
  std::span<const std::string_view> Projection(std::string_view which) const;

 private:
  WeightNames();
  // The words behind the class in the first row that fits; null: there is none.
  const std::vector<std::string_view>* FindRow(
      std::initializer_list<std::string_view> kinds,
      std::string_view class_name) const;

  std::vector<std::vector<std::string_view>> rows_;
};

}  // namespace onnx_tag::weights

#endif  // ONNX_TAG_USES_WEIGHTS_WEIGHT_NAMES_H_
