/**
 * Express Gateway in front of the app, in the same process. A request runs through the policies of a YAML pipeline; the
 * last one passes it to the app unchanged. The app is complete without it.
 */

import { readFile } from 'node:fs/promises';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { HubError, toHubError } from '@datahub/service-kit/call/error';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import { type ExpressGateway, loadExpressGateway } from './express-gateway.ts';
import { invalid, parsePipeline, terminalPolicy, watchText } from './pipeline-file.ts';
import type { PipelineConfig, Plugin, RequestHandler } from './pipeline-types.ts';

export interface EdgeOptions {
  /** The pipeline, a YAML file. */
  configPath: string;
  logger: Logger;
  env: Record<string, string | undefined>;
  /** How often the file is checked for a change. */
  intervalMs?: number;
  /** Answers a request that the edge ends by itself. */
  answer(err: HubError, request: IncomingMessage, response: ServerResponse): void;
}

export interface Edge {
  /** Returns a listener that runs the pipeline before the app. */
  inFront(app: RequestListener): RequestListener;
  close(): void;
}

const changeIntervalMs = 800;

/** Rejects with VALIDATION if the pipeline is invalid. An invalid change later is logged, and the previous pipeline stays. */
export async function openEdge(options: EdgeOptions): Promise<Edge> {
  const { configPath, logger, env, answer } = options;
  const gateway = loadExpressGateway(logger);
  let passToApp: RequestListener = (_request, response) => response.writeHead(503).end();

  const load = async (text: string): Promise<RequestHandler> => {
    const config = parsePipeline(text, env);
    await loadPlugins(config, gateway, configPath);
    const schema = { $id: 'https://datahub/schemas/policies/data-hub.json', type: 'object' };
    gateway.registerPolicy({
      name: terminalPolicy,
      schema,
      policy: () => (request, response) => passToApp(request, response),
    });
    const { plugins, ...pipeline } = config;
    return gateway.createRouter(pipeline).catch((err) => {
      throw invalid((err as Error).message, err);
    });
  };

  const text = await readFile(configPath, 'utf8').catch((err) => {
    throw invalid(`${configPath} cannot be read`, err);
  });
  let router = await load(text);
  // Changes are loaded one after the other, so that the last text of the file wins.
  let loading = Promise.resolve();
  const stop = watchText({
    path: configPath,
    text,
    intervalMs: options.intervalMs ?? changeIntervalMs,
    onChange: (changed) => {
      loading = loading
        .then(() => load(changed))
        .then(
          (loaded) => {
            router = loaded;
            logger.info({ event: 'edge.reloaded' }, 'the edge loaded its changed pipeline');
          },
          (err) =>
            logger.error({ event: 'edge.rejected' }, `${(err as Error).message} The previous one stays.`),
        );
    },
    onUnreadable: () =>
      logger.error({ event: 'edge.unreadable' }, 'the pipeline cannot be read; the previous one stays'),
  });

  const app = gateway.createApp();
  for (const setting of ['x-powered-by', 'etag', 'query parser']) app.disable(setting);
  app.use(((request, response, next) => router(request, response, next)) satisfies RequestHandler);
  const answerUnknown = (request: IncomingMessage, response: ServerResponse) =>
    answer(unknownPath(), request, response);
  app.use(answerUnknown);
  // Express recognizes an error handler by its four parameters.
  app.use((err: unknown, request: IncomingMessage, response: ServerResponse, _next: unknown) => {
    const fault = toFault(err);
    if (fault.code === 'INTERNAL') logger.error({ event: 'edge.failed', err }, 'a policy of the edge failed');
    answer(fault, request, response);
  });

  return {
    inFront: (listener) => {
      passToApp = listener;
      // Express passes on what is no path.
      return (request, response) => app(request, response, () => answerUnknown(request, response));
    },
    close: stop,
  };
}

const unknownPath = () => new HubError('NOT_FOUND', 'The edge’s pipeline has no endpoint for this path.');

/** A plugin is a CommonJS or ES module with `init(context)`, named by its package or by a path relative to the pipeline's file. */
async function loadPlugins(
  config: PipelineConfig,
  gateway: ExpressGateway,
  configPath: string,
): Promise<void> {
  for (const [name, settings] of Object.entries(config.plugins ?? {})) {
    const from = settings?.package ?? `express-gateway-plugin-${name}`;
    try {
      const path = from.startsWith('.')
        ? resolve(configPath, '..', from)
        : createRequire(resolve(configPath)).resolve(from);
      const loaded = (await import(pathToFileURL(path).href)) as Partial<Plugin> & { default?: Plugin };
      const plugin = (loaded.default ?? loaded) as Plugin;
      plugin.init({
        settings: settings ?? {},
        registerPolicy: gateway.registerPolicy,
        registerCondition: gateway.registerCondition,
      });
    } catch (err) {
      throw invalid(
        `the plugin ${name} cannot be loaded from ${from} (${(err as Error).message.split('\n')[0]})`,
        err,
      );
    }
  }
}

function toFault(err: unknown): HubError {
  const { status } = err as { status?: number };
  if (err instanceof URIError || status === 400)
    return new HubError('VALIDATION', 'The request is malformed.', { cause: err });
  return toHubError(err);
}
