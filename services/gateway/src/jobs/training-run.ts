/** One run of a job: reads all rows of its query and trains the classifier with the rows that are valid examples. */

import { CallForm } from '@datahub/proto/executor/v1/executor';
import type { RowCounts, TakenJob, Row as TrainRow } from '@datahub/proto/ml/v1/ml';
import type { CallContext, CallStop } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { faultsOfExample } from '../resources/classifiers/examples.ts';
import { executionOf } from '../resources/classifiers/jobs.ts';
import { repeated } from '../rows/repeated.ts';
import { type Row, RowReader, toText } from '../rows/row-reader.ts';
import { executeInto } from '../rows/stoppable.ts';
import type { Upstreams } from '../upstreams.ts';
import { digestsOfRow, type LearntRows, type RowDigests } from './learnt-rows.ts';

const faultsMax = 50;
const batchMax = 500;
const batchCharactersMax = 1_000_000;
const idCharactersMax = 512;

export interface TrainingRunOptions {
  job: TakenJob;
  upstreams: Pick<Upstreams, 'executor' | 'ml'>;
  /** Has the principal of the job's key. Its signal is `stop`. */
  ctx: CallContext;
  stop: CallStop;
  /** The rows that earlier runs have learnt. This run adds its own. */
  learnt: LearntRows;
}

export class TrainingRun {
  /** Of the rows up to the last batch that was trained. */
  counts: RowCounts = { rows: 0, nullIds: 0, invalid: 0, faults: [], truncated: false };
  readonly #read: RowCounts = { ...this.counts, faults: [] };
  readonly #options: TrainingRunOptions;
  /** The columns of the job that no row has had. Documents can lack members, so one row does not tell. */
  readonly #missing: Set<string>;
  #hasRead = false;
  #batch: { row: TrainRow; digests: RowDigests }[] = [];
  /** Of the batch. */
  #ids = new Set<string>();
  #characters = 0;

  constructor(options: TrainingRunOptions) {
    this.#options = options;
    const { id = '', label = '', text = '' } = options.job.columns ?? {};
    this.#missing = new Set([id, label, text]);
  }

  /** Resolves when all rows are trained. Throws VALIDATION if no row has one of the columns. */
  async run(): Promise<void> {
    const { job, upstreams, ctx, stop } = this.#options;
    const reader = new RowReader({ use: (rows) => this.#use(rows), stop });
    const execution = {
      ...executionOf(job),
      callForm: CallForm.CALL_FORM_JOB,
      timeoutWithoutRows: true,
    };
    try {
      await executeInto(reader, { executor: upstreams.executor, execution, ctx });
    } catch (err) {
      // What has arrived is learnt, so a run that ends by a timeout makes progress.
      if (!stop.aborted) await reader.finish();
      if (!stop.aborted) await this.#train();
      throw err;
    }
    this.#read.truncated = reader.isTruncated;
    await this.#train();
    const names = [...this.#missing].join(' and ');
    if (this.#hasRead && names !== '') throw new HubError('VALIDATION', `No row has a column ${names}.`);
  }

  async #use(rows: Row[]): Promise<void> {
    for (const row of rows) {
      this.#read.rows = row.number;
      const example = this.#toExample(row);
      if (example === undefined) continue;
      const digests = digestsOfRow(example);
      // Of the rows with one id the last one counts, also if it is as one before the other.
      if (!this.#ids.has(example.id) && this.#options.learnt.has(digests)) continue;
      this.#batch.push({ row: example, digests });
      this.#ids.add(example.id);
      this.#characters += example.text.length;
      if (this.#batch.length >= batchMax || this.#characters >= batchCharactersMax) await this.#train();
    }
    if (this.#batch.length === 0) this.counts = this.#snapshot();
  }

  #snapshot(): RowCounts {
    return { ...this.#read, faults: [...this.#read.faults] };
  }

  async #train(): Promise<void> {
    const { job, upstreams, ctx, stop, learnt } = this.#options;
    const batch = this.#batch;
    const rows = batch.map(({ row }) => row);
    this.#batch = [];
    this.#ids = new Set();
    this.#characters = 0;
    const { jobId, lease } = job;
    const counts = this.#snapshot();
    // The call can be repeated: the service learns a row once, even if it receives it twice.
    const call = () => upstreams.ml.trainRows({ jobId, lease, rows, counts }, ctx);
    await repeated(call, stop);
    this.counts = counts;
    await learnt.reserve(batch.length);
    for (const { digests } of batch) learnt.add(digests);
  }

  #toExample({ number, values }: Row): TrainRow | undefined {
    if (typeof values === 'string') return this.#refuse(number, values);
    const { columns = { id: '', label: '', text: '' } } = this.#options.job;
    this.#hasRead = true;
    for (const name of this.#missing) if (values.has(name)) this.#missing.delete(name);
    const textOf = (name: string) => toText(values.get(name));
    const isNull = (name: string) => values.get(name) === 'null';
    const id = textOf(columns.id);
    if (id === undefined) {
      this.#read.nullIds += 1;
      this.#note(number, `${columns.id} is ${isNull(columns.id) ? 'null' : 'missing'}`);
      return undefined;
    }
    if (id === '' || id.length > idCharactersMax)
      return this.#refuse(number, `${columns.id} must have 1 to ${idCharactersMax} characters`);
    if (!id.isWellFormed())
      return this.#refuse(number, `${columns.id} must be valid Unicode: it holds half of a surrogate pair`);
    const label = textOf(columns.label);
    const context = textOf(columns.text);
    const faults = faultsOfExample({ label, context }, '');
    if (faults.length === 0 && label !== undefined && context !== undefined)
      return { id, label, text: context };
    const nameOf = (pointer: string) => (pointer === '/label' ? columns.label : columns.text);
    return this.#refuse(
      number,
      faults
        .map(({ pointer, detail }) => {
          const name = nameOf(pointer);
          return `${name} ${isNull(name) ? 'is null' : detail}`;
        })
        .join('; '),
    );
  }

  #refuse(row: number, detail: string): undefined {
    this.#read.invalid += 1;
    this.#note(row, detail);
  }

  #note(row: number, detail: string): void {
    if (this.#read.faults.length < faultsMax) this.#read.faults.push({ row, detail });
  }
}
