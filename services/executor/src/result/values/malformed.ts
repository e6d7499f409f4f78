import { HubError } from '@datahub/service-kit/call/error';

/** The error of a value that only a faulty or hostile server sends. */
export const malformedError = (what: string): HubError =>
  new HubError('SOURCE_BROKEN', `The source sent ${what}.`, { retryable: false });
