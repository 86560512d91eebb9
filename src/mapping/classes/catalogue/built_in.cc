// Includes the table in the program. A string literal of two megabytes would
// take seconds to compile, and some compilers refuse it.
#include "base/embed.h"
#include "mapping/classes/catalogue/table.h"

ONNX_TAG_EMBED(onnx_tag_catalogue, ONNX_TAG_CATALOGUE_TABLE);

namespace onnx_tag::catalogue {

const Table& BuiltIn() {
  static const Table table(ONNX_TAG_EMBEDDED(onnx_tag_catalogue));
  return table;
}

}  // namespace onnx_tag::catalogue
