import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { HubError } from '../../src/call/error.ts';
import { startGrpcServer } from '../../src/grpc/server.ts';
import { readSettings, SettingsError } from '../../src/settings/settings.ts';
import type { SettingName } from '../../src/settings/settings-table.ts';
import { describeStartFailure } from '../../src/settings/start-failure.ts';
import { serveMetrics } from '../../src/telemetry/metrics.ts';

it('names the setting of a port that is taken', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const { port } = taken.address() as { port: number };
  try {
    await expect(serveMetrics(() => '', { host: '127.0.0.1', port })).rejects.toThrow(
      /EADDRINUSE.*set DATAHUB_METRICS_PORT to another port/,
    );
    const grpc = (portSetting?: SettingName) =>
      startGrpcServer({ address: `127.0.0.1:${port}`, services: [], ...(portSetting && { portSetting }) });
    await expect(grpc()).rejects.toThrow(/EADDRINUSE.*set DATAHUB_GRPC_PORT to another port/);
    await expect(grpc('DATAHUB_INTERNAL_PORT')).rejects.toThrow('set DATAHUB_INTERNAL_PORT');
  } finally {
    taken.close();
  }
});

it('says why a store cannot be had, each cause once, and which setting names it', () => {
  const socket = new Error('connect ECONNREFUSED 127.0.0.1:27017');
  const driver = new Error(socket.message, { cause: socket });
  const text = describeStartFailure(new HubError('UNAVAILABLE', 'The store is away.', { cause: driver }));
  const lines = text.split('\n');
  expect(lines.slice(0, 2)).toEqual(['The store is away.', socket.message]);
  expect(lines).toHaveLength(3);
  expect(lines[2]).toContain('DATAHUB_STORE_URL');
});

it('shows a stack only for an unexpected error', () => {
  expect(describeStartFailure(new SettingsError(['PORT is wrong.']))).not.toContain('\n    at ');
  const refused = Object.assign(new Error("EACCES: permission denied, mkdir '/data'"), { syscall: 'mkdir' });
  expect(describeStartFailure(refused)).not.toContain('\n    at ');
  expect(describeStartFailure(refused)).toContain('DATAHUB_DATA_DIR');
  expect(describeStartFailure(new TypeError('x is not a function'))).toContain('\n    at ');
});

it('names each fault of the settings once, whichever services read them', () => {
  const read = () => readSettings({ PORT: 'x' }, (reader) => [1, 2].map(() => reader.integer('PORT')));
  expect(read).toThrow(/^Invalid settings:\n {2}- PORT must be a whole number from 0 to 65535\.$/);
});
