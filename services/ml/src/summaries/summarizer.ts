/** PORT: writes summaries. The extractive adapter always exists. A configured language model is tried before it. */

export interface SummaryRequest {
  /** One inner array per document: its passages. */
  documents: string[][];
  sentences?: number | undefined;
  maxWords?: number | undefined;
  /** BCP 47. */
  language?: string | undefined;
}

export interface Summary {
  generated: string;
  /** `extractive`, or the name of the model. */
  generator: string;
}

export interface SummaryCaller {
  accountId: string;
  signal: AbortSignal;
}

export interface Summarizer {
  /**
   * Rejects with VALIDATION (no text), TOO_LARGE, RATE_LIMITED (the account's queue is full) or UNAVAILABLE (timeout).
   */
  summarize(request: SummaryRequest, caller: SummaryCaller): Promise<Summary>;
  close(): Promise<void>;
}
