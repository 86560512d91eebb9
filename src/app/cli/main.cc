#include <unistd.h>

#include "app/cli/run.h"
#include "file/io/console.h"
#include "file/io/signals.h"

int main(int argc, char** argv) {
  onnx_tag::InstallSignalHandlers();
  onnx_tag::io::PrepareStandardStreams();
  return onnx_tag::cli::Run(onnx_tag::io::Arguments(argc, argv), STDOUT_FILENO,
                            STDERR_FILENO);
}
