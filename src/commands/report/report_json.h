// The data of a report; docs/report-format.md describes it.
#ifndef ONNX_TAG_COMMANDS_REPORT_REPORT_JSON_H_
#define ONNX_TAG_COMMANDS_REPORT_REPORT_JSON_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "commands/compare/compare_tags.h"
#include "commands/profile/profile_file.h"
#include "commands/report/explained_model.h"
#include "sizes/module_sizes.h"

namespace onnx_tag {

// A model with all that its page shows.
struct ReportedModel {
  const TaggedModel& model;
  std::optional<sizes::Shapes> shapes;     // none: only a sidecar
  std::optional<sizes::ModelSizes> sizes;  // none: only a sidecar
  const std::optional<GatheredClaims>& claims;
  std::optional<NodeNumbers> numbers;  // of a profile
  std::string profile;                 // its file
};

ReportedModel GatherReport(const ExplainedModel& explained,
                           std::span<const sizes::GivenShape> shapes,
                           const ProfileSource& profile);

// A row of a zoo's page.
struct ZooEntry {
  std::string file;
  std::string page;   // relative to the index; "": none
  std::string error;  // why
  std::string root_class;
  std::string producer;
  std::string dialect;
  Coverage coverage;
  std::uint64_t modules = 0;
  sizes::Sums sums;
  bool has_sums = false;
};

ZooEntry DescribeForZoo(const ReportedModel& reported);

std::string ModelReportJson(const ReportedModel& reported);
std::string CompareReportJson(const ReportedModel& a, const ReportedModel& b,
                              const TagDifference& difference);
std::string ZooReportJson(std::span<const ZooEntry> entries);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_REPORT_REPORT_JSON_H_
