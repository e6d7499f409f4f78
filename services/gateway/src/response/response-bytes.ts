/** Collects the text of a large response. Other requests run meanwhile, and its bytes count against the budget. */

import { createLoopYield } from '@datahub/service-kit/yield-to-loop';
import type { FastifyRequest } from 'fastify';
import type { ResponseBudget } from './response-budget.ts';

/** This many characters are turned into bytes at once. */
const blockLength = 65_536;

export class ResponseBytes {
  readonly #request: FastifyRequest;
  readonly #budget: Pick<ResponseBudget, 'reserve'>;
  readonly #mayYield = createLoopYield();
  readonly #blocks: Buffer[] = [];
  #bytes = 0;
  #text = '';

  constructor(request: FastifyRequest, budget: Pick<ResponseBudget, 'reserve'>) {
    this.#request = request;
    this.#budget = budget;
  }

  /** Of the text so far, without its last 65,536 characters at most. */
  get length(): number {
    return this.#bytes;
  }

  /** Rejects as `ResponseBudget.reserve` throws. */
  async add(text: string): Promise<void> {
    this.#text += text;
    if (this.#text.length < blockLength) return;
    this.#flush();
    this.#budget.reserve(this.#request, this.#bytes);
    await this.#mayYield();
  }

  end(): Buffer {
    this.#flush();
    return this.#blocks.length === 1 ? (this.#blocks[0] as Buffer) : Buffer.concat(this.#blocks);
  }

  #flush(): void {
    const block = Buffer.from(this.#text);
    this.#text = '';
    this.#blocks.push(block);
    this.#bytes += block.length;
  }
}
