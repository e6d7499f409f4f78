/** The types of Express Gateway that the edge uses. */

import type { IncomingMessage, ServerResponse } from 'node:http';

export type NextFunction = (err?: unknown) => void;
export type RequestHandler = (req: IncomingMessage, res: ServerResponse, next: NextFunction) => void;

export interface PipelineEntry {
  apiEndpoints?: unknown;
  policies?: unknown;
}

/** A pipeline file. */
export interface PipelineConfig {
  apiEndpoints?: Record<string, unknown>;
  policies?: string[];
  pipelines?: Record<string, PipelineEntry | null>;
  /** Name → `package` and the plugin's settings, as in Express Gateway's system.config.yml. */
  plugins?: Record<string, ({ package?: string } & Record<string, unknown>) | null>;
}

/** `egContext` of a request. */
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

/** Registers the parts of a plugin, as in Express Gateway. */
export interface PluginContext {
  settings: object;
  registerPolicy(policy: Policy): void;
  registerCondition(condition: Condition): void;
}

export interface Plugin {
  init(context: PluginContext): void;
}
