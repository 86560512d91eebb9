// The program of the page (web/src/page): a worker of the browser calls these
// functions. Each returns true and leaves its answer in the text, or returns
// false and leaves the reason there.
#pragma once

#include <cstddef>

extern "C" {

// Valid until the next call.
const char* onnx_tag_text();
std::size_t onnx_tag_text_size();

// The data of a report (docs/how/report-format.md). The model stays open for
// the next two.
bool onnx_tag_open(const char* path);
// What `onnx-tag explain` prints.
bool onnx_tag_explain(const char* address);
// A byte for each node of the report: 1 if the node fits the query, else 0.
bool onnx_tag_query(const char* expression);
}
