/**
 * The parts of Express Gateway that run a pipeline, by sub-path: its policies, conditions, schemas and routing. Its
 * servers, admin API, users, credentials and database are never loaded; the lockfile leaves out what only they need.
 */

import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import { withoutSecrets } from './log-secrets.ts';
import type { Condition, EdgeContext, PipelineConfig, Policy, RequestHandler } from './pipeline-types.ts';

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
  registerCondition(condition: Condition): void;
}

/** Its policies that work here. The others want its database, read the body before the app, or double what the hub has. */
const offered = new Set(['expression', 'headers', 'log', 'terminate']);

/** Loads it once a process; what it logs becomes lines of our log. */
export function loadExpressGateway(logger: Logger): ExpressGateway {
  const part = (path: string) => require(`express-gateway/lib/${path}`);
  const own = createRequire(require.resolve('express-gateway/package.json'));
  const express = own('express');
  let faults: string[] | undefined;
  redirectLogs(part('logger'), own('winston'), (level, text) => {
    // While a pipeline is loaded its errors are thrown, and logged by whoever catches them.
    if (level === 'error' && faults !== undefined) faults.push(text);
    else logger[levels.get(level as 'info') ?? 'debug']({ event: 'edge.log' }, text);
  });
  const schemas = part('schemas');
  const policies = part('policies');
  const { init, conditions } = part('conditions');
  const { register: registerCondition } = init();
  for (const name of Object.keys(conditions)) refusePromises(conditions, name);
  policies.register(logPolicy(part('policies/log').schema, logger));
  const isConfig = schemas.register(
    'config',
    'gateway.config',
    part('config/schemas/gateway.config.json'),
  ) as (config: unknown) => Validation;

  return {
    createApp: express,
    registerPolicy: policies.register,
    registerCondition: (condition) => {
      registerCondition(condition);
      refusePromises(conditions, condition.name);
    },

    createRouter: async (config) => {
      const { isValid, error } = isConfig(config);
      if (!isValid) throw new Error(error);
      const texts: string[] = [];
      faults = texts;
      try {
        requireKnown(config, { policies: policies.policies, conditions });
        policies.load((config.policies ?? []).filter((name) => offered.has(name)));
        return await part('gateway/pipelines').bootstrap({
          app: express.Router(),
          config: { gatewayConfig: config },
        });
      } catch (err) {
        throw new Error([err instanceof Error ? err.message : String(err), ...texts].join(': '), {
          cause: err,
        });
      } finally {
        // What policies log later, for each request, must not gather anywhere.
        faults = undefined;
      }
    },
  };
}

const levels = new Map([
  ['error', 'error'],
  ['warn', 'warn'],
  ['info', 'info'],
] as const);

/** Hands on the lines of every logger. */
function redirectLogs(
  loggers: Record<string, Winston | ((...args: never[]) => unknown)>,
  winston: { format: { splat(): unknown }; transports: { Stream: new (options: object) => unknown } },
  write: (level: string, text: string) => void,
): void {
  const stream = new Writable({
    objectMode: true,
    write: ({ level, message }: { level: string; message: string }, _encoding, done) => {
      // Names are coloured for a terminal.
      write(level, stripVTControlCharacters(String(message)));
      done();
    },
  });
  for (const target of Object.values(loggers)) {
    if (typeof target === 'function') continue;
    const transports = [new winston.transports.Stream({ stream })];
    target.configure({ level: 'info', format: winston.format.splat(), transports });
  }
}

/** Express Gateway's log policy, without the keys that a template may reach in a request's headers. */
function logPolicy(schema: object, logger: Logger): Policy {
  return {
    name: 'log',
    schema,
    policy: (params) => (request, _response, next) => {
      const { egContext } = request as typeof request & { egContext: EdgeContext };
      try {
        const text = egContext.evaluateAsTemplateString((params as { message: string }).message);
        logger.info({ event: 'edge.log' }, withoutSecrets(text, request.headers));
      } catch (err) {
        const why = withoutSecrets((err as Error).message, request.headers);
        logger.error({ event: 'edge.log' }, `the edge's log policy failed: ${why}`);
      }
      next();
    },
  };
}

/** Express Gateway puts a policy whose condition is a promise behind those that follow, and so behind the app. */
function refusePromises(conditions: Record<string, (config: object) => unknown>, name: string): void {
  const make = conditions[name] as (config: object) => unknown;
  conditions[name] = (config) => {
    const made = make(config);
    if (made instanceof Promise)
      throw new Error(`the condition ${name} gives a promise, so its policy would come too late`);
    return made;
  };
}

/** Names what is not there, before Express Gateway stumbles over it. */
function requireKnown(
  config: PipelineConfig,
  known: { policies: Record<string, unknown>; conditions: Record<string, unknown> },
): void {
  const missing = (config.policies ?? []).find((name) => !offered.has(name) && !(name in known.policies));
  if (missing !== undefined)
    throw new Error(`there is no policy ${missing} here, unless a plugin brings it (docs/edge.md)`);
  // These ask Passport, which is not loaded.
  const absent = new Set(['authenticated', 'anonymous']);
  const name = conditionNames(config.pipelines).find((one) => absent.has(one) || !(one in known.conditions));
  if (name !== undefined) throw new Error(`there is no condition ${name} here (docs/edge.md)`);
}

/** Of conditions at any depth: `not`, `allOf` and `oneOf` hold others. */
function conditionNames(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const found = key === 'condition' ? [inner] : key === 'conditions' && Array.isArray(inner) ? inner : [];
    return [...found.map((one) => String(one?.name)), ...conditionNames(inner)];
  });
}
