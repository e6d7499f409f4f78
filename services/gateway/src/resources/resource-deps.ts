import type { ResponseSettings } from '../response/streamed-response.ts';
import type { Upstreams } from '../upstreams.ts';
import type { Signatures } from './queries/signatures.ts';

/** What the handlers of all resources share. */
export interface ResourceDeps {
  upstreams: Upstreams;
  signatures: Signatures;
  settings: ResponseSettings;
  /** What a request asked for is work of this gateway: a job, or a run of a watch. */
  onWork?: (() => void) | undefined;
  /** The origin that callers have, if a setting says it. */
  publicOrigin?: string | undefined;
}
