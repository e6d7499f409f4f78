import { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import { Client, credentials } from '@grpc/grpc-js';
import { afterEach, expect, it } from 'vitest';
import { type RunningGrpcServer, startGrpcServer } from '../../src/grpc/server.ts';

let server: RunningGrpcServer | undefined;
afterEach(() => server?.close(0));

/** `ListServices` over the wire, as grpcurl asks it. */
function listServices(port: number): Promise<string> {
  // Field 7, list_services, with an empty string.
  return ask(port, Buffer.from([0x3a, 0x00]));
}

function ask(port: number, request: Buffer): Promise<string> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const same = (bytes: Buffer) => bytes;
  const path = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
  return new Promise((resolve, reject) => {
    const call = client.makeBidiStreamRequest(path, same, same);
    call.on('data', (bytes: Buffer) => {
      resolve(bytes.toString('latin1'));
      client.close();
    });
    call.on('error', reject);
    call.write(request);
  });
}

const handlers = new Proxy({}, { get: () => async () => ({}) });
const start = (reflect: string[]) =>
  startGrpcServer({
    address: '127.0.0.1:0',
    services: [{ definition: CatalogServiceService, handlers }],
    serviceTokens: ['a-token-of-at-least-thirty-two-characters'],
    reflect,
  });

it('names the services of a server that was told to', async () => {
  server = await start(['datahub.catalog.v1.CatalogService']);
  expect(await listServices(server.port)).toContain('datahub.catalog.v1.CatalogService');
});

it('names and describes the health service', async () => {
  server = await start(['datahub.catalog.v1.CatalogService']);
  const name = 'grpc.health.v1.Health';
  expect(await listServices(server.port)).toContain(name);
  // Field 4, file_containing_symbol.
  const answer = await ask(server.port, Buffer.from([0x22, name.length, ...Buffer.from(name)]));
  expect(answer).toContain('HealthCheckRequest');
});

it('is not there otherwise', async () => {
  server = await start([]);
  await expect(listServices(server.port)).rejects.toMatchObject({ code: 12 });
});
