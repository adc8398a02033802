"""The providers that litellm knows by name: copied, as importing it costs seconds. A test compares."""

from typing import Final

_LIST: Final = """
a2a a2a_agent abliteration ai21 ai21_chat aihubmix aiml aiohttp_openai amazon_nova anthropic anthropic_text
apertis assemblyai auto_router aws_polly aws_textract azure azure_ai azure_speech azure_text baseten bedrock
bedrock_mantle black_forest_labs bytez cerebras charity_engine chatgpt chutes clarifai cloudflare codestral
cognition cohere cohere_chat cometapi compactifai cortecs crusoe cursor custom custom_openai darkbloom
dashscope databricks datarobot deepgram deepinfra deepseek docker_model_runner dotprompt edenai elevenlabs
empiriolabs empower fal_ai featherless_ai fireworks_ai friendliai galadriel gdc gemini gigachat github
github_copilot gmi gradient_ai groq helicone heroku hosted_vllm huggingface humanloop hyperbolic inception
infinity jina_ai lambda_ai langflow langfuse langgraph lemonade libertai litellm_agent litellm_proxy
llamafile llamagate lm_studio manus maritalk meta meta_llama milvus minimax mistral modelscope mongodb
moonshot morph nadir nano-gpt nebius neosantara nlp_cloud novita nscale nvidia_nim nvidia_riva oci ollama
ollama_chat oobabooga openai openai_like openrouter ovhcloud parasail perplexity petals pg_vector pinstripes
poe predibase prism publicai qwen_ai_platform qwencloud ragflow recraft reducto reka replicate runwayml
s3_vectors sagemaker sagemaker_chat sagemaker_nova sail sambanova sap sarvam scaleway scx-ai snowflake
soniox stability strands_decider synthetic tencent tensormesh text-completion-codestral
text-completion-inception text-completion-openai together_ai topaz transcribe triton typesafe v0 valkey
veniceai vercel_ai_gateway vertex_ai vertex_ai_beta vllm volcengine voyage wandb watsonx watsonx_text xai
xiaomi_mimo xinference zai
"""
LITELLM_PROVIDERS: Final = frozenset(_LIST.split())
TEXT_ONLY: Final = (  # most look up a template at huggingface.co before
    *("replicate", "petals", "sagemaker", "anthropic_text", "azure_text", "watsonx_text"),
    *("text-completion-openai", "text-completion-codestral", "text-completion-inception"),
)
