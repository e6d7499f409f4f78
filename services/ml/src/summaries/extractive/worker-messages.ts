/** What crosses between the service's thread and a summarizing one. */

import type { ErrorCode, Fault } from '@datahub/service-kit/call/error';
import type { SummaryOptions } from './validate.ts';

export interface Task {
  documents: string[][];
  options: SummaryOptions;
}

export interface Failure {
  code: ErrorCode;
  message: string;
  errors: Fault[] | undefined;
  cause: string | undefined;
}

export type Answer = { generated: string } | Failure;
