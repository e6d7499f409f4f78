/** What crosses between the service's thread and a summarizing one. */

import type { FieldFault } from '@datahub/contract/validation-error';
import type { ErrorCode } from '@datahub/service-kit/call/error';
import type { SummaryOptions } from './validate.ts';

export interface Task {
  documents: string[][];
  options: SummaryOptions;
}

export interface Failure {
  code: ErrorCode;
  message: string;
  errors: readonly FieldFault[] | undefined;
  cause: string | undefined;
}

export type Answer = { generated: string } | Failure;
