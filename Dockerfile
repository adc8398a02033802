# Holdfast's worker and command line. The tools that a project needs (compilers, node, …) go into an image on top.
FROM python:3.11.14-slim-trixie AS build
RUN pip install --no-cache-dir uv==0.13.9
WORKDIR /src
ENV UV_PROJECT_ENVIRONMENT=/opt/holdfast UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1
# The dependencies first: they change less often than the code.
COPY pyproject.toml uv.lock ./
RUN uv sync --locked --no-dev --no-install-project
COPY README.md CHANGELOG.md LICENSE ./
COPY workflows workflows
COPY activities activities
COPY prompts prompts
COPY worker worker
RUN uv sync --locked --no-dev --no-editable

FROM python:3.11.14-slim-trixie
# Whoever owns the work tree on the host: commands of the agent run as this user.
ARG UID=1000
ARG GID=1000
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid "$GID" holdfast \
    && useradd --create-home --uid "$UID" --gid "$GID" holdfast \
    && install --directory --mode 0700 --owner holdfast --group holdfast /var/lib/holdfast
COPY --from=build /opt/holdfast /opt/holdfast
ENV PATH=/opt/holdfast/bin:$PATH HOLDFAST_HOME=/var/lib/holdfast HOLDFAST_WORKER=false
USER holdfast
WORKDIR /workspace
# -P: the work tree is the current directory, and must not lend its modules to the worker.
CMD ["python", "-P", "-m", "worker.serve"]
