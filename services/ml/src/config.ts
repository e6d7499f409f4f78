/** Settings of the ml service. */

import type { SettingsReader } from '@datahub/service-kit/settings/settings';
import {
  operatorSocketOf,
  readAccountQuota,
  readStoreUrl,
} from '@datahub/service-kit/settings/store-settings';

export interface MlConfig {
  /** `sqlite:<file>` or `mongodb://…`. */
  storeUrl: string;
  /** The socket for operator commands while the service runs. Undefined if several processes can open the store. */
  operatorSocket?: string | undefined;
  namespace: string;
  /** The most classifiers of one account; 0 for no limit. */
  accountQuota: number;
  /** Classifiers in memory: their number, their bytes in total, and the time after which an unused one is evicted. */
  classifiersCachedMax: number;
  classifiersCachedBytesMax: number;
  classifierIdleMs: number;
  /** If the gateway that runs a job does not extend its lease for this long, another gateway takes the job. */
  jobLeaseMs: number;
  /**
   * The number of threads for summaries of long texts. If there are two or more, one only accepts texts of medium
   * length.
   */
  summaryThreads: number;
  summaryTimeoutMs: number;
  /** An OpenAI-compatible endpoint that writes summaries. If it fails, the extractive summary is returned. */
  generator: { url: string; model: string; apiKey: string | undefined; timeoutMs: number } | undefined;
}

export function readMlConfig(reader: SettingsReader): MlConfig {
  const storeUrl = readStoreUrl(reader, 'ml');
  return {
    storeUrl,
    operatorSocket: operatorSocketOf(storeUrl, 'ml-socket'),
    namespace: reader.text('DATAHUB_NAMESPACE'),
    accountQuota: readAccountQuota(reader),
    classifiersCachedMax: reader.integer('DATAHUB_CLASSIFIERS_HELD_MAX'),
    classifiersCachedBytesMax: reader.integer('DATAHUB_CLASSIFIERS_HELD_BYTES_MAX'),
    classifierIdleMs: reader.integer('DATAHUB_CLASSIFIER_IDLE_MS'),
    jobLeaseMs: reader.integer('DATAHUB_JOB_LEASE_MS'),
    summaryThreads: reader.integer('DATAHUB_SUMMARY_THREADS'),
    summaryTimeoutMs: reader.integer('DATAHUB_SUMMARY_TIMEOUT_MS'),
    generator: readGenerator(reader),
  };
}

function readGenerator(reader: SettingsReader): MlConfig['generator'] {
  const url = reader.optional('DATAHUB_GENERATOR_URL');
  if (url === undefined) return undefined;
  const { protocol = '', username, password } = URL.parse(url) ?? {};
  if (!/^https?:$/.test(protocol))
    reader.fault('DATAHUB_GENERATOR_URL must be an address with http:// or https://.');
  // Clients refuse such an address with an error that contains it.
  if (username || password)
    reader.fault('DATAHUB_GENERATOR_URL must have no user and password. Set DATAHUB_GENERATOR_API_KEY.');
  const apiKey = reader.optional('DATAHUB_GENERATOR_API_KEY');
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey))
    reader.fault('DATAHUB_GENERATOR_API_KEY must have visible ASCII characters only.');
  return {
    url,
    model: reader.required(
      'DATAHUB_GENERATOR_MODEL',
      'it names the model that the endpoint at DATAHUB_GENERATOR_URL runs.',
    ),
    apiKey,
    timeoutMs: reader.integer('DATAHUB_GENERATOR_TIMEOUT_MS'),
  };
}
