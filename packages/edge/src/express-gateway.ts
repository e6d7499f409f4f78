/**
 * The parts of Express Gateway that run a pipeline, by sub-path: its policies, conditions, schemas and routing. Its
 * servers, admin API, users, credentials and database are never loaded; the lockfile leaves out what only they need.
 */

import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import type { Condition, EdgeContext, PipelineConfig, Policy, RequestHandler } from './pipeline-types.ts';

const require = createRequire(import.meta.url);

interface Validation {
  isValid: boolean;
  error: string;
}

interface Winston {
  configure(options: { level: string; format: unknown; transports: unknown[] }): void;
}

interface Express {
  (): RequestHandler & { request: object; use(handler: unknown): void; disable(name: string): void };
  request: object;
}

export interface ExpressGateway {
  /** Requests keep their own class, which reads their bodies, instead of getting that of Express. */
  createApp(): RequestHandler & { use(handler: unknown): void; disable(name: string): void };
  /** Rejects with Express Gateway's message if the configuration is invalid. */
  createRouter(config: PipelineConfig): Promise<RequestHandler>;
  /** Replaces a policy with the same name. */
  registerPolicy(policy: Policy): void;
  registerCondition(condition: Condition): void;
}

/** The policies that work here. The others need its database, read the body before the app, or duplicate parts of the hub. */
const offered = new Set(['expression', 'headers', 'log', 'terminate']);

/** Loads Express Gateway and redirects its log lines to the hub's log. */
export function loadExpressGateway(logger: Logger): ExpressGateway {
  const part = (path: string) => require(`express-gateway/lib/${path}`);
  const own = createRequire(require.resolve('express-gateway/package.json'));
  const express: Express & { Router(): unknown } = own('express');
  let faults: string[] | undefined;
  redirectLogs(part('logger'), own('winston'), (level, text) => {
    // Errors while a pipeline loads are thrown and logged by the caller.
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
    createApp: () => keepingClass(express),
    registerPolicy: (policy) => policies.register(catching(policy, logger)),
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
        // Errors that policies log for later requests are not collected.
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

/** Redirects the lines of every logger to `write`. */
function redirectLogs(
  loggers: Record<string, Winston | ((...args: never[]) => unknown)>,
  winston: { format: { splat(): unknown }; transports: { Stream: new (options: object) => unknown } },
  write: (level: string, text: string) => void,
): void {
  const stream = new Writable({
    objectMode: true,
    write: ({ level, message }: { level: string; message: string }, _encoding, done) => {
      // Remove the colours of terminal output.
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

/** Express gives each request the prototype `app.request`. */
function keepingClass(express: Express): ReturnType<ExpressGateway['createApp']> {
  const app = express();
  const members = { ...Object.getOwnPropertyDescriptors(express.request), app: { value: app } };
  const made = new WeakMap<object, object>();
  const handle: RequestHandler = (request, response, next) => {
    const own = Object.getPrototypeOf(request) as object;
    app.request = made.get(own) ?? Object.create(own, members);
    made.set(own, app.request);
    app(request, response, next);
  };
  return Object.assign(handle, { use: app.use.bind(app), disable: app.disable.bind(app) });
}

/** Express Gateway's log policy, without the secrets of the request's headers and the values in its URL. */
function logPolicy(schema: object, logger: Logger): Policy {
  return {
    name: 'log',
    schema,
    policy: (params) => (request, _response, next) => {
      const { egContext } = request as typeof request & { egContext: EdgeContext };
      const { message } = params as { message: string };
      try {
        const text = withoutSecrets(request, () => egContext.evaluateAsTemplateString(message));
        logger.info({ event: 'edge.log' }, shortened(text));
      } catch (err) {
        const why = shortened(err instanceof Error ? err.message : String(err));
        logger.error({ event: 'edge.log' }, `the edge's log policy failed: ${why}`);
      }
      next();
    },
  };
}

/**
 * As in Express 5, a handler may return a promise, whose error is that of the handler. An error after the handler has passed
 * the request on is only logged.
 */
function catching(policy: Policy, logger: Logger): Policy {
  return {
    ...policy,
    policy: (params, config) => {
      const handle = policy.policy(params, config);
      return (request, response, next) => {
        let hasPassed = false;
        const ended: unknown = handle(request, response, (err) => {
          hasPassed = true;
          next(err);
        });
        if (ended === undefined) return;
        Promise.resolve(ended).catch((err) => {
          if (hasPassed || response.headersSent)
            logger.error({ event: 'edge.failed', err }, 'a policy of the edge failed');
          else next(err ?? new Error(`The policy ${policy.name} failed.`));
        });
      };
    },
  };
}

/** Express Gateway runs a policy whose condition returns a promise after those that follow, and so after the app. */
function refusePromises(conditions: Record<string, (config: object) => unknown>, name: string): void {
  const make = conditions[name] as (config: object) => unknown;
  conditions[name] = (config) => {
    const made = make(config);
    if (made instanceof Promise)
      throw new Error(`the condition ${name} returns a promise, so its policy would run too late`);
    return made;
  };
}

/** Refuses unknown policies and conditions, for which Express Gateway has no clear error. */
function requireKnown(
  config: PipelineConfig,
  known: { policies: Record<string, unknown>; conditions: Record<string, unknown> },
): void {
  const missing = (config.policies ?? []).find((name) => !offered.has(name) && !(name in known.policies));
  if (missing !== undefined)
    throw new Error(`there is no policy ${missing}, and no plugin registers one (docs/edge.md)`);
  // These need Passport, which is not loaded.
  const absent = new Set(['authenticated', 'anonymous']);
  const name = conditionNames(config.pipelines).find((one) => absent.has(one) || !(one in known.conditions));
  if (name !== undefined) throw new Error(`there is no condition ${name} (docs/edge.md)`);
}

/** The names of conditions at any depth: `not`, `allOf` and `oneOf` contain others. */
function conditionNames(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const found = key === 'condition' ? [inner] : key === 'conditions' && Array.isArray(inner) ? inner : [];
    return [...found.map((one) => String(one?.name)), ...conditionNames(inner)];
  });
}

const secretHeaders = new Set(['x-service-api-key', 'authorization', 'proxy-authorization', 'cookie']);
const lineCharactersMax = 8_192;

const shortened = (text: string): string =>
  text.length > lineCharactersMax ? `${text.slice(0, lineCharactersMax)}…` : text;

/** What Express derives from the URL, or caches of it. */
type Routed = IncomingMessage &
  Partial<Record<'originalUrl' | 'query' | '_parsedUrl' | '_parsedOriginalUrl', unknown>>;

/**
 * Calls `read`, which must not keep the request, while the request has no query string and its secret headers are hidden.
 * Values can be as short as one character and be written in any way, so they cannot be searched for in a text.
 */
function withoutSecrets<T>(request: IncomingMessage, read: () => T): T {
  const routed = request as Routed;
  const { url, originalUrl, query, _parsedUrl, _parsedOriginalUrl, headers, rawHeaders } = routed;
  routed.url = pathOf(url);
  routed.originalUrl = pathOf(originalUrl);
  routed.query = {};
  routed._parsedUrl = undefined;
  routed._parsedOriginalUrl = undefined;
  routed.headers = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, shownHeader(name, value)]),
  );
  routed.rawHeaders = rawHeaders.map((text, i) =>
    i % 2 === 0 ? text : String(shownHeader(rawHeaders[i - 1] as string, text)),
  );
  // Node computes these from the raw ones.
  const forgetDistinct = () => Object.assign(routed, { headersDistinct: undefined });
  forgetDistinct();
  try {
    return read();
  } finally {
    Object.assign(routed, { url, originalUrl, query, _parsedUrl, _parsedOriginalUrl, headers, rawHeaders });
    forgetDistinct();
  }
}

function shownHeader<T extends string | string[] | undefined>(name: string, value: T): T | string {
  const lower = name.toLowerCase();
  if (secretHeaders.has(lower)) return '[hidden]';
  return lower === 'referer' || lower === 'referrer' ? pathOf(value) : value;
}

const pathOf = (url: unknown): string => String(url ?? '').split('?', 1)[0] as string;
