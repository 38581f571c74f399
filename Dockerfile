# The command `sonde` with a server of environments (OpenEnv) and the viewer; see docs/sharing.md. No torch, no models.
# Unverified: it was written where no image can be built.
FROM python:3.12-slim
ARG EXTRAS=openenv
WORKDIR /build
COPY pyproject.toml hatch_build.py README.md LICENSE NOTICE ./
COPY src src
RUN pip install --no-cache-dir ".[${EXTRAS}]" && rm -rf /build
RUN useradd --create-home player
USER player
WORKDIR /home/player
EXPOSE 8000
ENTRYPOINT ["sonde"]
CMD ["--help"]
