/**
 * Fetches the document at whose address a client of OAuth describes itself (draft-ietf-oauth-client-id-metadata-document).
 * Anybody can name an address, so the rules for addresses of sources apply.
 */

import type {
  FetchClientDocumentRequest,
  FetchClientDocumentResponse,
} from '@datahub/proto/executor/v1/executor';
import { HubError } from '@datahub/service-kit/call/error';
import { type FetchDeps, fetchJsonObject, inTurn } from './json-object.ts';

export function fetchClientDocument(
  { url }: FetchClientDocumentRequest,
  deps: FetchDeps,
): Promise<FetchClientDocumentResponse> {
  return inTurn(deps, faults, async (fetching) => ({
    documentJson: JSON.stringify(await fetchJsonObject(url, fetching, faults)),
  }));
}

const unavailable = (reason: string, cause?: unknown) =>
  new HubError('UNAVAILABLE', `The description of the client cannot be read. ${reason}`, {
    cause,
    stage: 'connect',
    retryable: true,
  });

const faults = {
  busy: (cause: unknown) => unavailable('Too many addresses of this account answer slowly.', cause),
  unreachable: (cause: unknown) => unavailable('It cannot be reached over HTTPS from the hub.', cause),
  unusable: (reason: string, cause?: unknown) =>
    unavailable(`Its address was reached, but ${reason}.`, cause),
};
