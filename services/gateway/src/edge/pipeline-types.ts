/** What Express Gateway takes and calls, as far as the edge uses it. */

import type { IncomingMessage, ServerResponse } from 'node:http';

export type NextFunction = (err?: unknown) => void;
export type RequestHandler = (req: IncomingMessage, res: ServerResponse, next: NextFunction) => void;

/** A pipeline file, in Express Gateway's words. */
export interface PipelineConfig {
  apiEndpoints?: Record<string, unknown>;
  policies?: string[];
  pipelines?: Record<string, unknown>;
  /** Name → `package` and the plugin's settings, as in Express Gateway's system.config.yml. */
  plugins?: Record<string, ({ package?: string } & Record<string, unknown>) | null>;
}

export interface Policy {
  name: string;
  schema?: object;
  policy(params: object, config: object): RequestHandler;
}

/** What a plugin is given to register its parts with: the same calls as in Express Gateway. */
export interface PluginContext {
  settings: object;
  registerPolicy(policy: Policy): void;
  registerCondition(condition: object): void;
}

export interface Plugin {
  init(context: PluginContext): void;
}
