#include "generated/common_names.h"

#include <cmath>
#include <string>
#include <unordered_map>

#include "base/parse_number.h"
#include "base/text.h"
#include "mapping/classes/catalogue/identify.h"

namespace onnx_tag::catalogue {
namespace {

// A name that src/data/common_names.txt lacks is in at most so many libraries.
constexpr double kRare = 2;

class Weights {
 public:
  Weights() {
    double libraries = 0;
    for (const std::string_view row : Split(kCommonNames, '\n')) {
      if (row.empty()) continue;
      const std::vector<std::string_view> parts = Split(row, ' ');
      const int count = ParseWhole<int>(parts.at(1)).value();
      if (libraries == 0) {
        libraries = count;  // the first row: `libraries N`
        rare_ = std::log(libraries / kRare);
      } else {
        const bool plain = parts.at(2) != "0";
        common_.emplace(parts[0], plain ? 0 : std::log(libraries / count));
      }
    }
  }

  double Of(const std::string& name) const {
    const auto found = common_.find(name);
    return found == common_.end() ? rare_ : found->second;
  }

 private:
  std::unordered_map<std::string, double> common_;
  double rare_ = 0;
};

}  // namespace

double WeightOf(std::string_view owner, std::string_view name) {
  static const Weights weights;
  return weights.Of(std::string(owner) + '.' + std::string(name));
}

}  // namespace onnx_tag::catalogue
