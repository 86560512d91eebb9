// The data of a report, which docs/how/report-format.md describes, and its
// page.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/commands/compare/compare.h"
#include "app/commands/profile/kernels.h"
#include "app/commands/read/model_sizes.h"
#include "app/commands/read/tagged_model.h"
#include "mapping/mapping/observed_mapping.h"

namespace onnx_tag {

// A model with all that its page shows.
struct ReportedModel {
  TaggedModel model;
  // None if only a sidecar is at hand.
  std::optional<GatheredClaims> claims = {};
  std::unique_ptr<const ModelCosts> costs = {};
  // Of a profile, which is this file.
  std::optional<NodeNumbers> numbers = {};
  std::string profile = {};
};

// Maps the model once: for its tags, or, where a file has them, for the claims.
ReportedModel LoadReported(const std::string& path,
                           const TagSourceOptions& source,
                           std::span<const sizes::GivenShape> shapes,
                           const ProfileSource& profile, Terminal& terminal);

// A row of a zoo's page. `page` is relative to the index; without a model
// there is none, and `error` says why.
Datum ZooRow(const std::string& file, const std::string& page,
             const std::string& error, const ReportedModel* reported);

std::string ModelReportJson(const ReportedModel& reported);
std::string CompareReportJson(const ReportedModel& a, const ReportedModel& b,
                              const TagDifference& difference);
std::string ZooReportJson(Datum::List rows);

// report_page.cc: the page that a report is: one HTML file with its data
// inside.

// How every report begins: a file that does so was written by onnx-tag.
std::string_view ReportHead();

// `json` in the page. Nothing in it can end the element it stands in.
std::string MakeReportPage(std::string_view json);

}  // namespace onnx_tag
