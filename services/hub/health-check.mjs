/**
 * The HEALTHCHECK of the image: exits with 0 if the hub in this container is ready, else with 1. It runs every 10 seconds,
 * so it is JavaScript and does without `fetch`: that takes a third of the CPU. With `--wait` it asks until the hub is ready,
 * as a service manager wants it.
 */

const { get } = process.getBuiltinModule('node:http');
const timeoutMs = 4_000;
const repeatMs = 200;
const waits = process.argv.includes('--wait');

// A wildcard address is reached at the loopback address.
const host = (process.env.HOST || '127.0.0.1').replace(/^(0\.0\.0\.0|::)$/, '127.0.0.1');
const url = `http://${host.includes(':') ? `[${host}]` : host}:${process.env.PORT || 8080}/readyz`;
const fail = () => (waits ? setTimeout(check, repeatMs) : process.exit(1));

function check() {
  const request = get(url, { signal: AbortSignal.timeout(timeoutMs) });
  request.on('response', (response) => {
    if (response.statusCode === 200) process.exit(0);
    response.destroy();
    fail();
  });
  request.on('error', fail);
}
check();
