/** The HEALTHCHECK of the image: exits with 0 if the hub in this container is ready, else with 1. */

const timeoutMs = 4_000;

const isReady = await fetch(`http://127.0.0.1:${process.env.PORT || 8080}/readyz`, {
  signal: AbortSignal.timeout(timeoutMs),
}).then(
  ({ ok }) => ok,
  () => false,
);
process.exit(isReady ? 0 : 1);
