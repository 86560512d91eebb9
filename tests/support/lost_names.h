// Forms of a model that need no file: what tools, people and old exporters do
// to names. As tools/truth/degrade.py does it.
#pragma once

#include <string>
#include <string_view>

namespace onnx_tag::test {

// "ts-anon": what is done, and to which form.
struct LostNames {
  enum class What {
    kNothing,
    kMetadata,  // -nometa: as most tools drop it
    kScopes,    // -noscope: nodes are numbered, as torch up to 1.10 did it
    kNames,     // -anon: parameters alone have a name
    kAll,       // -bare: numbers everywhere
  };
  std::string_view form;
  What what = What::kNothing;

  static LostNames Of(std::string_view form);
};

// A serialized ModelProto; every node stays where it is.
std::string WithLostNames(std::string_view onnx, LostNames::What what);

}  // namespace onnx_tag::test
