// Orders classes that fit equally well.
#ifndef ONNX_TAG_MAPPING_CLASSES_CATALOGUE_EQUALS_H_
#define ONNX_TAG_MAPPING_CLASSES_CATALOGUE_EQUALS_H_

#include <cmath>
#include <string_view>
#include <tuple>
#include <vector>

#include "mapping/classes/catalogue/observation.h"
#include "mapping/classes/catalogue/table.h"

namespace onnx_tag::catalogue {

class EqualsOrder {
 public:
  EqualsOrder(const Table& table, const Observation& observation);

  // Greater is better. `at`: the module that may be of this class.
  auto Key(ClassId id, ModuleId at, double score) const {
    const SectionRecord& section = table_.SectionOf(id);
    const int rank =
        section.rank == 0 ? -1'000'000 : -static_cast<int>(section.rank);
    return std::tuple(SizesFit(section.family), PositionsFit(section.family),
                      HasCurrentMembers(id, at), rank,
                      static_cast<int>(table_[id].mark), IsCurrent(id),
                      HeadFits(table_.Name(id)), std::lround(score * 100),
                      -static_cast<int>(table_.Name(id).size()),
                      -static_cast<int>(Index(id)));
  }

 private:
  // The number of the file's embedding sizes that equal those of a published
  // model.
  int SizesFit(TextId family) const;
  // Whether the class existed when the file was exported.
  bool IsCurrent(ClassId id) const {
    return (table_[id].versions & likely_versions_) != 0;
  }
  // Whether the class had the attributes of the file at that time. For example,
  // the class with `text_model`, which was CLIPTextModel, has another name
  // today.
  bool HasCurrentMembers(ClassId id, ModuleId at) const;
  int PositionsFit(TextId family) const;
  int HeadFits(std::string_view name) const;

  const Table& table_;
  const Observation& observation_;
  VersionMask likely_versions_;
  std::vector<std::uint32_t> rows_;  // of the file's embeddings
};

}  // namespace onnx_tag::catalogue

#endif  // ONNX_TAG_MAPPING_CLASSES_CATALOGUE_EQUALS_H_
