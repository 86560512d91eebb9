#include "app/page/page.h"

#include <optional>

#include "app/commands/read/nodes.h"
#include "app/commands/report/report.h"
#include "app/commands/show/explain.h"
#include "app/render/render.h"
#include "core/query/matcher.h"
#include "core/query/parser.h"
#include "file/io/terminal.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

std::optional<ReportedModel> opened;
std::string text;

const TaggedModel& Opened() {
  if (!opened) Fail(ErrorKind::kUsage, "no model is open");
  return opened->model;
}

template <typename Answer>
bool Try(const Answer& answer) {
  try {
    text = answer();
    return true;
  } catch (const std::exception& error) {
    text = error.what();
    return false;
  }
}

}  // namespace
}  // namespace onnx_tag

extern "C" {

const char* onnx_tag_text() { return onnx_tag::text.data(); }
std::size_t onnx_tag_text_size() { return onnx_tag::text.size(); }

bool onnx_tag_open(const char* path) {
  using namespace onnx_tag;
  return Try([&] {
    Terminal terminal({.quiet = true});
    opened.emplace(LoadReported(path, {}, {}, {}, terminal));
    return ModelReportJson(*opened);
  });
}

bool onnx_tag_explain(const char* address) {
  using namespace onnx_tag;
  return Try([&] {
    if (Opened().file() == nullptr) {
      Fail(ErrorKind::kUsage, "a sidecar does not say why: open its model");
    }
    const Model& model = Opened().model();
    const NodeId node = SelectNode(model, address);
    std::string explanation;
    Render(ExplainNode(model, Opened().tagging(), node,
                       Explain(model, {}, {}, node)),
           Format::kText, false,
           [&](std::string_view piece) { explanation += piece; });
    return explanation;
  });
}

bool onnx_tag_query(const char* expression) {
  using namespace onnx_tag;
  return Try([&] {
    const query::Expression parsed = query::Parse(expression);
    const TaggedModel& model = Opened();
    const query::Matcher matcher(parsed, model.tagging(), model.model());
    std::string mask(model.model().node_count(), '\0');
    for (const NodeId node : matcher.All()) mask[Index(node)] = '\1';
    return mask;
  });
}
}
