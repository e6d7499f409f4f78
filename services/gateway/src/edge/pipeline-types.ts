/** What Express Gateway takes and calls, as far as the edge uses it. */

import type { IncomingMessage, ServerResponse } from 'node:http';

export type NextFunction = (err?: unknown) => void;
export type RequestHandler = (req: IncomingMessage, res: ServerResponse, next: NextFunction) => void;

export interface PipelineEntry {
  apiEndpoints?: unknown;
  policies?: unknown;
}

/** A pipeline file, in Express Gateway's words. */
export interface PipelineConfig {
  apiEndpoints?: Record<string, unknown>;
  policies?: string[];
  pipelines?: Record<string, PipelineEntry | null>;
  /** Name → `package` and the plugin's settings, as in Express Gateway's system.config.yml. */
  plugins?: Record<string, ({ package?: string } & Record<string, unknown>) | null>;
}

/** What Express Gateway puts on a request as `egContext`. */
export interface EdgeContext {
  evaluateAsTemplateString(template: string): string;
}

export interface Policy {
  name: string;
  schema?: object;
  policy(params: object, config: object): RequestHandler;
}

export interface Condition {
  name: string;
  schema?: object;
  handler(...args: never[]): unknown;
}

/** What a plugin is given to register its parts with: the same calls as in Express Gateway. */
export interface PluginContext {
  settings: object;
  registerPolicy(policy: Policy): void;
  registerCondition(condition: Condition): void;
}

export interface Plugin {
  init(context: PluginContext): void;
}
