import { availableParallelism } from 'node:os';

/** The test files that run at the same time. They wait more than they compute, so there are more of them than cores. */
export const workers = availableParallelism() + 2;
