import type { AnswerSettings } from '../response/streamed-answer.ts';
import type { Upstreams } from '../upstreams.ts';
import type { Signatures } from './queries/signatures.ts';

/** What the handlers of all resources share. */
export interface ResourceDeps {
  upstreams: Upstreams;
  signatures: Signatures;
  settings: AnswerSettings;
}
