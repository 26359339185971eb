# syntax=docker/dockerfile:1
# `sluice serve` in a small image, as nobody in particular: docker build -t sluice . && docker run --rm -p 127.0.0.1:8080:8080 sluice

FROM node:22-alpine AS build
WORKDIR /sluice
# First what says which dependencies there are: they are installed again only when it changes.
COPY package.json package-lock.json ./
COPY packages/sluice/package.json packages/sluice/
COPY packages/server/package.json packages/server/
COPY packages/lab/package.json packages/lab/
COPY tools/package.json tools/
RUN npm ci --include=dev --no-audit --no-fund --no-update-notifier
COPY . .
# Without the lab, which is for looking, not for serving.
RUN npx tsc -p packages/sluice/tsconfig.build.json && npx tsc -p packages/server/tsconfig.build.json
RUN node deploy/collect-runtime.mjs runtime

FROM node:22-alpine
# It has to be reachable from outside of its container; who may reach that is for the ports and the token to say.
ENV NODE_ENV=production \
    SLUICE_HOST=0.0.0.0 \
    SLUICE_PORT=8080 \
    SLUICE_NO_LAB=true
WORKDIR /sluice
COPY --from=build /sluice/runtime/ ./
USER node
EXPOSE 8080 8081
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 \
    CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.SLUICE_PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "node_modules/@sluice/server/bin/sluice.mjs"]
CMD ["serve"]
