// What a model's modules cost along a range of one dimension
// (`--shape sequence=1..4096`): which module costs most, and where.
#ifndef ONNX_TAG_APP_COMMANDS_SHOW_SIZE_RANGE_H_
#define ONNX_TAG_APP_COMMANDS_SHOW_SIZE_RANGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "app/commands/read/model_sizes.h"
#include "app/commands/read/modules.h"
#include "app/commands/read/tagged_model.h"
#include "app/render/result.h"

namespace onnx_tag {

class SizeRange {
 public:
  // One of `given` is a range. Rows are those of the tree, each with what its
  // nodes cost; the lowest rows have what is below them, too. All must outlive
  // it, `costs` with formulas for the rows.
  SizeRange(const TaggedModel& model, const FoldedTree& tree,
            const FoldOptions& folding, ModelCosts& costs,
            std::vector<sizes::GivenShape> given);

  void AddText(Result& result) const;
  // A row for each size and module.
  Table Rows() const;
  Datum Data() const;

 private:
  struct Row {
    std::string path;  // "encoder.layer.0-11.attention.self"
    std::string name;  // of its class
    sizes::Dim flops;
  };
  struct Point {
    std::int64_t size = 0;
    std::vector<std::uint64_t> flops = {};  // by row
    std::uint64_t all = 0;
    std::string dimensions = {};  // the others
  };
  // Where another row than before costs most.
  struct Lead {
    std::int64_t from;
    std::size_t row;
  };

  void FindRows(const FoldedTree& tree, const FoldOptions& folding,
                ModelCosts& costs);
  void FindLeads();
  Point At(std::int64_t size) const;
  std::vector<std::size_t> ByCost(const Point& point) const;
  std::size_t Leader(const Point& point) const { return ByCost(point).front(); }

  const TaggedModel& model_;
  const ModelCosts& costs_;
  std::vector<sizes::GivenShape> given_;
  std::size_t ranged_ = 0;  // which of them is the range
  std::vector<Row> rows_;
  std::vector<Point> points_;
  std::vector<Lead> leads_;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_APP_COMMANDS_SHOW_SIZE_RANGE_H_
