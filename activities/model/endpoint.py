"""Where and how a model is reached."""

from enum import StrEnum
from typing import Final

from pydantic import SecretStr

from activities.model.addresses import is_openai
from activities.model.provider_files import ProviderFile
from workflows.domain.value import Value


class Wire(StrEnum):
    """The protocol of the requests to a model."""

    CHAT = "chat"  # OpenAI's chat completions, word for word
    RESPONSES = "responses"  # OpenAI's Responses
    ANTHROPIC = "anthropic"  # Anthropic's Messages
    GEMINI = "gemini"  # Google's Gemini
    BEDROCK = "bedrock"  # AWS's Converse
    OLLAMA = "ollama"  # Ollama's own
    LITELLM = "litellm"  # litellm chooses the protocol


class GoogleSignIn(Value):
    """Credentials of Google's: those of a file, or the machine's own ("application default credentials")."""

    credentials_file: ProviderFile | None = None


EXTRA_AUTHORITIES: Final = "NODE_EXTRA_CA_CERTS"  # what OpenCode's users set for their company's


class Route(Value):
    """How a provider is connected to, besides what the environment says: a proxy, a file of authorities, and a
    certificate that is shown, with its key."""

    proxy: SecretStr | None = None
    ca_file: ProviderFile | None = None
    cert_file: ProviderFile | None = None
    key_file: ProviderFile | None = None

    @property
    def anonymous(self) -> "Route":
        """The same without a certificate, for others than the provider."""
        return self.model_copy(update={"cert_file": None, "key_file": None})


ENVIRONMENT: Final = Route()  # HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE, SSL_CERT_DIR


class SilenceLimits(Value):
    """How long a provider may be silent, in seconds, where its configuration says so."""

    headers: float | None = None
    first_byte: float | None = None
    idle: float | None = None


class AwsSignIn(Value):
    """AWS's region, and who asks: by keys, else by a profile, else whom AWS's own look-ups find."""

    region: str
    profile: str | None = None
    access_key: str | None = None
    secret_key: SecretStr | None = None
    token: SecretStr | None = None


class Endpoint(Value):
    """Where and how a model is reached. `model`: litellm's name of it, provider first.

    `behind`: the model's own name, if `model` has that of a deployment. `other_secrets`: further values that are sent
    and that no failure may show. `google`: what its tokens come from. `aws`: who signs its requests.
    """

    model: str
    behind: str = ""
    base_url: str | None = None
    key: SecretStr | None = None
    headers: dict[str, str] = {}
    other_secrets: tuple[SecretStr, ...] = ()
    wire: Wire = Wire.LITELLM
    google: GoogleSignIn | None = None
    route: Route = Route()
    silence: SilenceLimits = SilenceLimits()
    aws: AwsSignIn | None = None

    @property
    def secret(self) -> str | None:
        return self.key.get_secret_value() if self.key else None

    @property
    def authorization(self) -> dict[str, str]:
        """The key as most providers' header, or as Azure's; none where another such header is configured."""
        name, scheme = ("api-key", "") if self.provider == "azure" else ("authorization", "Bearer ")
        configured = any(header.lower() in (name, "authorization") for header in self.headers)
        return {name: f"{scheme}{self.secret}"} if self.secret and not configured else {}

    @property
    def name(self) -> str:
        """The provider's name of the model."""
        return self.model.partition("/")[2]

    @property
    def is_own_server(self) -> bool:
        """Whether it may be a person's own, by its protocol and its address."""
        own = self.provider == "openai" and not is_openai(self.base_url)
        return own or self.provider in ("compatible", "ollama_chat")

    @property
    def provider(self) -> str:
        """litellm's name of the provider, or "compatible" for one known by its protocol only, OpenAI's chat."""
        provider = self.model.partition("/")[0]
        return "compatible" if provider == "openai" and self.wire is Wire.CHAT else provider
