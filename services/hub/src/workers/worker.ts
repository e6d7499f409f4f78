/** A process with a gateway and an executor. It runs executions itself, except those whose answers another worker caches. */

import { subscribe } from 'node:diagnostics_channel';
import { createEngines } from '@datahub/executor/engines/index';
import { compileStored } from '@datahub/executor/execution/transactions/compile';
import { startExecutorProcess } from '@datahub/executor/process';
import { createResponseWriters } from '@datahub/executor/result/response-writer';
import type { SignIn } from '@datahub/gateway/open/sign-in';
import { startGatewayProcess } from '@datahub/gateway/process';
import { HubError } from '@datahub/service-kit/call/error';
import { createClosers } from '@datahub/service-kit/closers';
import { type RunningService, runProcess } from '@datahub/service-kit/process/lifecycle';
import { withoutUnknownSettings } from '@datahub/service-kit/process/unknown-settings';
import { createProcessRegistry } from '@datahub/service-kit/telemetry/process-metrics';
import { type Channel, openChannel } from './channel.ts';
import { innerEnvironment } from './inner-environment.ts';

/** After each connection that it accepts, a worker leaves so much time for the others to accept the next one. */
const acceptPauseMs = 0.2;
/** The stores may take long to open. */
const ownerTimeoutMs = 2 ** 31 - 1;

async function start(): Promise<RunningService> {
  const env = withoutUnknownSettings(process.env);
  const registry = createProcessRegistry();
  let metrics = async () => '';
  const channel = openChannel(process, {
    metrics: async () => (await registry.metrics()) + (await metrics()),
  });
  await channel.ask('owner', undefined, ownerTimeoutMs);
  const executor = await startExecutorProcess(innerEnvironment(env), {
    engines: createEngines(),
    compile: compileStored,
    createWriter: createResponseWriters(),
    embedded: true,
  });
  const closers = createClosers();
  closers.add(executor);
  const gateway = await startGatewayProcess(env, {
    edge: 'none',
    local: { ...executor, address: `127.0.0.1:${executor.port}` },
    signIn: signInOver(channel),
  });
  closers.add(gateway);
  metrics = async () => (await gateway.metrics()) + executor.metrics();
  await channel.ask('started');
  return { ...(gateway.stopLog ? { stopLog: gateway.stopLog } : {}), close: closers.close };
}

/** The owner has the code, which is for one use. */
function signInOver(channel: Channel): SignIn {
  return {
    redeem: async (code) => {
      const answer = await channel.ask('redeem', code).catch((cause) => {
        throw new HubError('UNAVAILABLE', 'The hub is starting again. Try again.', {
          cause,
          retryable: true,
          retryAfterMs: 1_000,
        });
      });
      if (answer === undefined || answer === null) return undefined;
      const { key, keyId, expiresAt } = answer as { key: string; keyId: string; expiresAt: string };
      return { key, keyId, expiresAt: new Date(expiresAt) };
    },
  };
}

const never = new Int32Array(new SharedArrayBuffer(4));
subscribe('net.server.socket', () => void Atomics.wait(never, 0, 0, acceptPauseMs));
await runProcess({ start, stoppedByParent: true });
