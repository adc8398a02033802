"""What is known of litellm without importing it, as that costs seconds: its providers' names, and its environment."""

import re
from collections.abc import MutableMapping
from typing import Final

# copied; a test compares
_LIST: Final = """
a2a a2a_agent abliteration ai21 ai21_chat aiand aihubmix aiml aiohttp_openai amazon_nova anthropic
anthropic_text apertis assemblyai auto_router aws_polly aws_textract azure azure_ai azure_speech azure_text
baseten bedrock bedrock_mantle bespoke bigmodel black_forest_labs bytez cerebras charity_engine chatgpt chutes
clarifai clf_ai_gateway cloudflare codestral cognition cohere cohere_chat cometapi compactifai coralbricks
cortecs crusoe cursor custom custom_openai darkbloom dashscope databricks databricks_agent datarobot deepgram
deepinfra deepseek docker_model_runner dotprompt edenai elevenlabs empiriolabs empower eu_jev fal_ai
featherless_ai fireworks_ai friendliai galadriel gdc gemini gigachat github github_copilot gmi gradient_ai
groq helicone heroku hosted_vllm hostinger_router huggingface humanloop hyperbolic inception inferenceapis
infinity jina_ai kyma lambda_ai langflow langfuse langgraph laya lemonade libertai litellm_agent litellm_proxy
llamafile llamagate lm_studio manus maritalk meta meta_llama microsoft_365_copilot milvus minimax mistral
modelscope mongodb moonshot morph nace nadir nano-gpt nebius neosantara nlp_cloud novita nscale nvidia_nim
nvidia_riva oci ollama ollama_chat oobabooga openai openai_like opencode_go openinfer openrouter opensearch
ovhcloud parallel_ai parasail perplexity petals pg_vector pinstripes poe predibase prism publicai
qwen_ai_platform qwencloud ragflow recraft reducto refuseless reka replicate runwayml s3_vectors sagemaker
sagemaker_chat sagemaker_nova sail sambanova sap sarvam scaledown scaleway scx-ai snowflake soniox stability
strands_decider streamlake synthetic tencent tensormesh text-completion-codestral text-completion-inception
text-completion-openai together_ai topaz transcribe triton typesafe v0 valkey veniceai vercel_ai_gateway
vertex_ai vertex_ai_beta vllm volcengine voyage wally wandb watsonx watsonx_text xai xiaomi_mimo xinference
zai zerogpu
"""
LITELLM_PROVIDERS: Final = frozenset(_LIST.split())
TEXT_ONLY: Final = (  # most look up a template at huggingface.co before
    *("replicate", "petals", "sagemaker", "anthropic_text", "azure_text", "watsonx_text"),
    *("text-completion-openai", "text-completion-codestral", "text-completion-inception"),
)
SWITCHES: Final = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else its import fetches a price list from the network
    "LITELLM_MODE": "PRODUCTION",  # else it loads the first `.env` above its own directory
    "LITELLM_LOG": "CRITICAL",  # its log lines quote messages
    # where it sends what has no address; else that is OpenAI's, also for other providers
    "OPENAI_BASE_URL": "http://provider-without-address.invalid/v1",
    "REPEATED_STREAMING_CHUNK_LIMIT": "1000000000",  # else it breaks off answers that repeat themselves
}
_LOOKED_UP: Final = re.compile(r"(?!AWS_|TEMPORAL_|HOLDFAST_)(.*_(KEY|TOKEN|API_BASE|BASE_URL)|(OPENAI|LITELLM)_.*)")


def isolate(environment: MutableMapping[str, str]) -> None:
    """Prepare the environment for litellm, before its import and after our keys were read: our switches, and no key and
    no address of a provider. It looks such names up for missing arguments; ours come from the configuration only
    (security.md 14).

    Call it before there are threads: a new name moves the whole environment, and a thread that just reads it
    (Temporal's do) crashes. Names already prepared are set in place.
    """
    for name in [name for name in environment if _LOOKED_UP.fullmatch(name)]:
        del environment[name]
    environment.update(SWITCHES)
