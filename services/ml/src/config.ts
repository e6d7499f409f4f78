/** The ml service's settings. */

import type { SettingsReader } from '@datahub/service-kit/process/settings';
import {
  operatorSocketOf,
  readAccountQuota,
  readStoreUrl,
} from '@datahub/service-kit/process/store-settings';

export interface MlConfig {
  /** `sqlite:<file>` or `mongodb://…`. */
  storeUrl: string;
  /** Where the operator's commands reach a running service whose store is open to one process; undefined for other stores. */
  operatorSocket?: string | undefined;
  namespace: string;
  /** Classifiers of one account; 0 for no bound. */
  accountQuota: number;
  /** Classifiers in memory at the same time, their bytes together, and how long an unused one stays. */
  classifiersHeldMax: number;
  classifiersHeldBytesMax: number;
  classifierIdleMs: number;
  /** Threads for summaries of long texts; with two or more, one of them is left to those of medium length. */
  summaryThreads: number;
  summaryTimeoutMs: number;
  /** An OpenAI-compatible endpoint that writes summaries; the extractive one stands in when it fails. */
  generator: { url: string; model: string; apiKey: string | undefined; timeoutMs: number } | undefined;
}

export function readMlConfig(reader: SettingsReader): MlConfig {
  const storeUrl = readStoreUrl(reader, 'ml');
  return {
    storeUrl,
    operatorSocket: operatorSocketOf(storeUrl, 'ml-socket'),
    namespace: reader.text('DATAHUB_NAMESPACE', 'dh'),
    accountQuota: readAccountQuota(reader),
    classifiersHeldMax: reader.integer('DATAHUB_CLASSIFIERS_HELD_MAX', {
      fallback: 200,
      min: 1,
      max: 100_000,
    }),
    classifiersHeldBytesMax: reader.integer('DATAHUB_CLASSIFIERS_HELD_BYTES_MAX', {
      fallback: 256 * 1024 * 1024,
      min: 16 * 1024 * 1024,
      max: 1024 ** 4,
    }),
    classifierIdleMs: reader.integer('DATAHUB_CLASSIFIER_IDLE_MS', {
      fallback: 600_000,
      min: 1_000,
      max: 86_400_000,
    }),
    summaryThreads: reader.integer('DATAHUB_SUMMARY_THREADS', { fallback: 2, min: 1, max: 64 }),
    summaryTimeoutMs: reader.integer('DATAHUB_SUMMARY_TIMEOUT_MS', {
      fallback: 10_000,
      min: 100,
      max: 600_000,
    }),
    generator: readGenerator(reader),
  };
}

function readGenerator(reader: SettingsReader): MlConfig['generator'] {
  const url = reader.optional('DATAHUB_GENERATOR_URL');
  if (url === undefined) return undefined;
  if (!/^https?:\/\//.test(url)) reader.fault('DATAHUB_GENERATOR_URL must start with http:// or https://.');
  return {
    url,
    model: reader.required(
      'DATAHUB_GENERATOR_MODEL',
      'the endpoint at DATAHUB_GENERATOR_URL needs to know it.',
    ),
    apiKey: reader.optional('DATAHUB_GENERATOR_API_KEY'),
    timeoutMs: reader.integer('DATAHUB_GENERATOR_TIMEOUT_MS', { fallback: 20_000, min: 100, max: 600_000 }),
  };
}
