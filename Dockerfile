# The command `sonde` with a server of environments (OpenEnv) and the viewer; see docs/sharing.md. No torch, no models.
# Unverified: it was written where no image can be built; each of its commands was run by hand, on Python 3.12.
FROM python:3.12-slim AS wheel
WORKDIR /build
COPY pyproject.toml hatch_build.py README.md LICENSE NOTICE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
ARG EXTRAS=openenv
COPY --from=wheel /wheels /wheels
COPY constraints-hosts.txt /wheels/
RUN pip install --no-cache-dir --constraint /wheels/constraints-hosts.txt "$(ls /wheels/*.whl)[${EXTRAS}]"
RUN useradd --create-home player
USER player
WORKDIR /home/player
EXPOSE 8000
ENTRYPOINT ["sonde"]
CMD ["--help"]
