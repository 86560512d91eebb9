// What to say where a query fits nothing.
#ifndef ONNX_TAG_QUERY_SUGGEST_H_
#define ONNX_TAG_QUERY_SUGGEST_H_

#include <string>
#include <vector>

#include "query/matcher.h"

namespace onnx_tag::query {

// One sentence for each condition that no node meets, with the closest values
// there are; where each is met by some nodes, how many. Ready to print.
std::vector<std::string> WhyNothingFits(const Expression& expression,
                                        const Tagging& tagging,
                                        const NodeList& nodes,
                                        const Matcher& matcher);

}  // namespace onnx_tag::query

#endif  // ONNX_TAG_QUERY_SUGGEST_H_
