/**
 * The parts of Express Gateway that run a pipeline, by sub-path: its policies, conditions, schemas and routing. Its
 * servers, admin API, users, credentials and database are never loaded; the lockfile leaves out what only they need.
 */

import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import type { Logger } from '@datahub/service-kit/logger';
import type { PipelineConfig, Policy, RequestHandler } from './pipeline-types.ts';

const require = createRequire(import.meta.url);

interface Validation {
  isValid: boolean;
  error: string;
}

interface Winston {
  configure(options: { level: string; format: unknown; transports: unknown[] }): void;
}

export interface ExpressGateway {
  createApp(): RequestHandler & { use(handler: unknown): void; disable(name: string): void };
  /** Throws what Express Gateway says of the configuration. */
  createRouter(config: PipelineConfig): Promise<RequestHandler>;
  /** A policy of this name is replaced. */
  registerPolicy(policy: Policy): void;
  registerCondition(condition: object): void;
}

/** Loads it once a process; what it logs becomes lines of our log. */
export function loadExpressGateway(logger: Logger): ExpressGateway {
  const part = (path: string) => require(`express-gateway/lib/${path}`);
  const own = createRequire(require.resolve('express-gateway/package.json'));
  const express = own('express');
  const faults = redirectLogs(
    { ...part('logger'), log: part('policies/log/instance') },
    own('winston'),
    logger,
  );
  const schemas = part('schemas');
  const policies = part('policies');
  const conditions = part('conditions').init();
  const isConfig = schemas.register(
    'config',
    'gateway.config',
    part('config/schemas/gateway.config.json'),
  ) as (config: unknown) => Validation;

  return {
    createApp: express,
    registerPolicy: policies.register,
    registerCondition: conditions.register,

    createRouter: async (config) => {
      const { isValid, error } = isConfig(config);
      if (!isValid) throw new Error(error);
      faults.length = 0;
      try {
        policies.load(config.policies ?? []);
        return await part('gateway/pipelines').bootstrap({
          app: express.Router(),
          config: { gatewayConfig: config },
        });
      } catch (err) {
        throw new Error([err instanceof Error ? err.message : String(err), ...faults].join(': '), {
          cause: err,
        });
      }
    },
  };
}

const levels = new Map([
  ['error', 'error'],
  ['warn', 'warn'],
  ['info', 'info'],
] as const);

/** Sends every logger's lines to ours, and returns the list into which the texts of errors are put. */
function redirectLogs(
  loggers: Record<string, Winston | ((...args: never[]) => unknown)>,
  winston: { format: { splat(): unknown }; transports: { Stream: new (options: object) => unknown } },
  logger: Logger,
): string[] {
  const faults: string[] = [];
  const stream = new Writable({
    objectMode: true,
    write: ({ level, message }: { level: string; message: string }, _encoding, done) => {
      // Names are coloured for a terminal.
      const text = stripVTControlCharacters(String(message));
      if (level === 'error') faults.push(text);
      logger[levels.get(level as 'info') ?? 'debug']({ event: 'edge.log' }, text);
      done();
    },
  });
  for (const target of Object.values(loggers)) {
    if (typeof target === 'function') continue;
    const transports = [new winston.transports.Stream({ stream })];
    target.configure({ level: 'info', format: winston.format.splat(), transports });
  }
  return faults;
}
