// Prints the modules of the nodes that match a query: consumer MODEL QUERY
#include <onnx_tag/error.h>
#include <onnx_tag/mapping.h>
#include <onnx_tag/query.h>

#include <fstream>
#include <iostream>
#include <iterator>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::ifstream file(argv[1], std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  try {
    const onnx_tag::Model model = onnx_tag::ReadModel(bytes);
    const onnx_tag::Tagging tagging = onnx_tag::MapNodes(model, {});
    for (const onnx_tag::NodeId node :
         onnx_tag::FindNodes(model, tagging, argv[2])) {
      const onnx_tag::Tag& tag = tagging.tags[node];
      std::cout << model[node].name << '\t'
                << (tag.tagged() ? tagging.modules.Path(tag.module) : "-")
                << '\n';
    }
  } catch (const onnx_tag::Error& error) {
    std::cerr << argv[1] << ": " << error.what() << '\n';
    return 3;
  }
  return 0;
}
