# syntax=docker/dockerfile:1
# `sluice serve` with the lab in a small image, run as a user without rights:
#   docker build -t sluice . && docker run --rm -p 127.0.0.1:8080:8080 sluice, then open http://localhost:8080

FROM node:22-alpine AS build
WORKDIR /sluice
# The lists of dependencies come first: they are installed again only when these change.
COPY package.json package-lock.json ./
COPY packages/sluice/package.json packages/sluice/
COPY packages/server/package.json packages/server/
COPY packages/lab/package.json packages/lab/
COPY tools/package.json tools/
RUN npm ci --include=dev --no-audit --no-fund --no-update-notifier
COPY . .
# The library, the service, and the page of the lab.
RUN npx tsc -p packages/sluice/tsconfig.build.json && npx tsc -p packages/sluice/tsconfig.cjs.json && npx tsc -p packages/server/tsconfig.build.json
RUN npx vite build packages/lab && node tools/fill-packages.mjs
RUN node deploy/collect-runtime.mjs runtime

FROM node:22-alpine
# It listens on all addresses of its container. Publish the port on 127.0.0.1, or set SLUICE_TOKEN. SLUICE_NO_LAB=true leaves the lab out.
ENV NODE_ENV=production \
    SLUICE_HOST=0.0.0.0 \
    SLUICE_PORT=8080
WORKDIR /sluice
COPY --from=build /sluice/runtime/ ./
USER node
EXPOSE 8080 8081
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 \
    CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.SLUICE_PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "node_modules/@sluice/server/bin/sluice.mjs"]
CMD ["serve"]
