"""`python -m onnx_tag refit`: new weights in an exported model, proved by the bytes of the old ones.

checkpoints  reads what torch and safetensors write
model        the tensors of an ONNX file, and where their bytes are
bases        the ways in which parameters become numbers of a tensor
schemes      how quantizers and converters round these numbers
proofs       which base and which scheme give the bytes that a tensor has
doubts       why such a proof is not believed
plan         what becomes of each tensor and of each parameter
lora         adapters of PEFT
writer       the output, whole or not at all
command      the command line
"""
