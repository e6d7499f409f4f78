/** Runs the stored queries of a Data Hub. */
export type * from '../gen/routes.d.ts';
export { type CallOptions, type Client, type ClientOptions, createClient, type ExecuteOptions, type Query, type QueryNames, type ReadOptions, type Result, } from './client.ts';
export { type Problem, ProblemError } from './problem.ts';
export type { Rows } from './rows.ts';
export type { Json, Value, Values } from './values.ts';
