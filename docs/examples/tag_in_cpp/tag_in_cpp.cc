// tag_in_cpp MODEL OUT [RECORDING]: tags a model and prints its attention.
// Writes OUT.onnx, OUT.tags.json and OUT.stripped.onnx.
#include <onnx_tag/tagger.h>

#include <exception>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  try {
    onnx_tag::Tagger tagger(argv[1]);
    onnx_tag::TaggerOptions options;
    if (argc > 3) options.recording_file = argv[3];
    tagger.Map(options);
    std::cout << tagger.tagged_count() << " of " << tagger.node_count()
              << " nodes\n";
    for (const onnx_tag::TaggedNode& node :
         tagger.Find("type=attention and layer=0 and op=MatMul")) {
      std::cout << node.name << '\t' << node.module << '\t' << node.confidence
                << '\n';
    }
    const std::string out = argv[2];
    tagger.WriteModel(out + ".onnx");
    tagger.WriteSidecar(out + ".tags.json");
    tagger.WriteStripped(out + ".stripped.onnx");
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 3;
  }
}
