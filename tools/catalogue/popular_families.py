"""Families that are often met as ONNX files, the most frequent first; a list made by hand.

`library:family` where it is not of transformers.
"""
POPULAR = """
bert roberta distilbert torchvision:resnet llama qwen2 gpt2 t5 whisper mistral clip vit xlm_roberta timm:resnet
timm:vision_transformer mpnet wav2vec2 torchvision:mobilenetv2 ultralytics:tasks qwen3 bart gemma phi3 deberta_v2
electra albert torchvision:mobilenetv3 torchvision:efficientnet timm:efficientnet timm:mobilenetv3 resnet camembert
gemma2 gemma3 phi mixtral marian m2m_100 mt5 segformer detr dinov2 swin convnext siglip blip opt gpt_neox bloom falcon
gpt_neo modernbert codegen layoutlm layoutlmv3 longformer deberta hubert speecht5 vits moonshine owlvit
table_transformer yolos sam donut beit deit mobilevit mobilenet_v2 mobilenet_v1 pegasus mbart nomic_bert
diffusers:unet_2d_condition diffusers:autoencoder_kl timm:convnext timm:swin_transformer torchvision:vgg
torchvision:densenet torchvision:squeezenet torchvision:shufflenetv2 torchvision:googlenet torchvision:inception
torchvision:alexnet torchvision:vision_transformer torchvision:convnext torchvision:swin_transformer
torchvision:faster_rcnn torchvision:mask_rcnn torchvision:deeplabv3 torchvision:fcn torchvision:ssd
diffusers:transformer_flux diffusers:transformer_sd3 diffusers:controlnet clap trocr vision_encoder_decoder blip_2
qwen2_vl qwen2_5_vl qwen3_moe paligemma llava idefics3 smolvlm siglip2 dinov3_vit depth_anything dpt rt_detr
grounding_dino videomae xlnet xlm funnel squeezebert mobilebert convbert roformer big_bird led blenderbot
blenderbot_small umt5 gptj mpt stablelm starcoder2 olmo olmo2 cohere granite glm deepseek_v3 deepseek_v2 mamba rwkv
data2vec sew wavlm unispeech encodec mask2former maskformer swinv2 efficientnet regnet poolformer vit_mae groupvit
""".split()
