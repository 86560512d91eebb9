// Hints for a query that matches no node.
#ifndef ONNX_TAG_QUERY_SUGGEST_H_
#define ONNX_TAG_QUERY_SUGGEST_H_

#include <string>
#include <vector>

#include "query/matcher.h"

namespace onnx_tag::query {

// One sentence for each condition without a match, with the most similar
// values. If each condition has matches, one sentence with their counts. Ready
// to print.
std::vector<std::string> WhyNothingFits(const Expression& expression,
                                        const Tagging& tagging,
                                        const Model& model,
                                        const Matcher& matcher);

}  // namespace onnx_tag::query

#endif  // ONNX_TAG_QUERY_SUGGEST_H_
